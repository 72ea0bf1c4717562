package supervise

import (
	"os/exec"
	"slices"
	"strings"
)

// LoginAgent is the name that launchd knows the agent by which starts the bundle at
// login.
const LoginAgent = "dev.tandem.Tandem.login"

// OpenedFlag marks a start that the agent's own has opened.
const OpenedFlag = "opened"

// agentVariable is where launchd writes the name of who it starts.
const agentVariable = "XPC_SERVICE_NAME"

// IsLoginAgent reports whether launchd started this process as that agent. One that
// the agent's has opened never is it, whatever its environment says: it would open
// another, and that one the next.
func IsLoginAgent(opened bool, getenv func(string) string) bool {
	return !opened && getenv(agentVariable) == LoginAgent
}

// OpenAtLogin is the command by which the agent's process opens the bundle anew, as a
// process of its own: an agent ends when a person wants no start at login any more,
// and would take the menu with it.
func OpenAtLogin(bundle string, environ []string) *exec.Cmd {
	cmd := exec.Command("/usr/bin/open", "-g", bundle, "--args", "--login", "--"+OpenedFlag)
	cmd.Env = slices.DeleteFunc(slices.Clone(environ), func(s string) bool { return strings.HasPrefix(s, agentVariable+"=") })
	return cmd
}
