package main

import (
	"regexp"
	"testing"
)

// TestNoSecretIsAnArgument: arguments can be read by every user of the machine, so
// that no verb takes a key, a token or a password by a flag.
func TestNoSecretIsAnArgument(t *testing.T) {
	secret := regexp.MustCompile(`(?mi)^\s+-[a-z-]*(key|token|secret|password|auth|credential)\b`)
	usages := 0
	for _, v := range verbs() {
		for _, args := range [][]string{{v.name, "-h"}, {v.name, "add", "-h"}, {v.name, "set", "-h"}, {v.name, "list", "-h"}} {
			c := newConsole(t, newHome(t))
			if c.tandem(t.Context(), args...) == 0 {
				usages++
			}
			if found := secret.FindString(c.stderr); found != "" {
				t.Errorf("tandem %q takes %s", args, found)
			}
		}
	}
	if usages < len(verbs()) {
		t.Errorf("%d usages of %d verbs were read", usages, len(verbs()))
	}
}
