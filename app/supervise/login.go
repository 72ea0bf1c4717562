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

// IsLoginAgent reports whether this process is the agent's. A process that the agent's process has
// opened never is, whatever its environment says: otherwise each would open another.
func IsLoginAgent(opened bool, getenv func(string) string) bool {
	return !opened && getenv(agentVariable) == LoginAgent
}

// OpenAtLogin returns the command by which the agent's process opens the bundle as a separate
// process. An agent ends when the user turns off the start at login, and the menu would end with
// it.
func OpenAtLogin(bundle string, environ []string) *exec.Cmd {
	cmd := exec.Command("/usr/bin/open", "-g", bundle, "--args", "--login", "--"+OpenedFlag)
	cmd.Env = slices.DeleteFunc(slices.Clone(environ),
		func(s string) bool { return strings.HasPrefix(s, agentVariable+"=") })
	return cmd
}
