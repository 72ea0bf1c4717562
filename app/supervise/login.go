package supervise

import (
	"os/exec"
	"slices"
	"strings"
)

// LoginAgent is the name of the launchd agent that starts the bundle at login.
const LoginAgent = "dev.tandem.Tandem.login"

// OpenedFlag marks a start that the agent's process has made.
const OpenedFlag = "opened"

// agentVariable is where launchd writes the name of the agent into the environment of its process.
const agentVariable = "XPC_SERVICE_NAME"

// IsLoginAgent reports whether this process is the agent's. A process that the agent's has opened
// is never one, whatever its environment says: it would open another process, and that one the
// next.
func IsLoginAgent(opened bool, getenv func(string) string) bool {
	return !opened && getenv(agentVariable) == LoginAgent
}

// OpenAtLogin returns the command by which the agent's process opens the bundle as a process of its
// own. An agent ends when a person turns off the start at login, and would take the menu with it.
func OpenAtLogin(bundle string, environ []string) *exec.Cmd {
	cmd := exec.Command("/usr/bin/open", "-g", bundle, "--args", "--login", "--"+OpenedFlag)
	cmd.Env = slices.DeleteFunc(slices.Clone(environ),
		func(s string) bool { return strings.HasPrefix(s, agentVariable+"=") })
	return cmd
}
