package supervise

import (
	"slices"
	"strings"
	"testing"
)

func TestOnlyAgentsOwnProcessIsLoginAgent(t *testing.T) {
	for service, want := range map[string]bool{"": false, "0": false, LoginAgent: true,
		"application.dev.tandem.Tandem.123.456": false} {
		getenv := func(string) string { return service }
		if got := IsLoginAgent(false, getenv); got != want {
			t.Errorf("%q: %t", service, got)
		}
		if IsLoginAgent(true, getenv) {
			t.Errorf("%q: the opened process counts as the agent", service)
		}
	}
}

// The process that the agent opens does not open another one: its arguments and its environment
// prevent that.
func TestOpenedProcessOpensNoOther(t *testing.T) {
	environ := []string{"HOME=/Users/p", agentVariable + "=" + LoginAgent, agentVariable + "S=x"}
	cmd := OpenAtLogin("/Applications/Tandem.app", environ)
	if got, want := strings.Join(cmd.Args, " "),
		"/usr/bin/open -g /Applications/Tandem.app --args --login --opened"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := []string{environ[0], environ[2]}; !slices.Equal(cmd.Env, want) {
		t.Errorf("environment %q, want %q", cmd.Env, want)
	}
}
