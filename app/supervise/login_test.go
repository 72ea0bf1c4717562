package supervise

import (
	"slices"
	"strings"
	"testing"
)

func TestIsLoginAgent(t *testing.T) {
	for service, want := range map[string]bool{"": false, "0": false, LoginAgent: true, "application.dev.tandem.Tandem.123.456": false} {
		getenv := func(string) string { return service }
		if got := IsLoginAgent(false, getenv); got != want {
			t.Errorf("%q: %t", service, got)
		}
		if IsLoginAgent(true, getenv) {
			t.Errorf("%q: one that was opened takes itself for the agent", service)
		}
	}
}

// TestOpenAtLogin: what the agent opens opens nothing more, by its arguments and by its
// environment.
func TestOpenAtLogin(t *testing.T) {
	environ := []string{"HOME=/Users/p", agentVariable + "=" + LoginAgent, agentVariable + "S=x"}
	cmd := OpenAtLogin("/Applications/Tandem.app", environ)
	if got, want := strings.Join(cmd.Args, " "), "/usr/bin/open -g /Applications/Tandem.app --args --login --opened"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := []string{environ[0], environ[2]}; !slices.Equal(cmd.Env, want) {
		t.Errorf("environment %q, want %q", cmd.Env, want)
	}
}
