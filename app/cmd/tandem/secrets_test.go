package main

import (
	"regexp"
	"testing"
)

// No verb takes a key, a token or a password by a flag. Every user of the machine can read the
// arguments of a program.
func TestNoSecretIsAnArgument(t *testing.T) {
	secret := regexp.MustCompile(`(?mi)^\s+-[a-z-]*(key|token|secret|password|auth|credential)\b`)
	usages := 0
	for _, v := range newMain().Verbs {
		for _, args := range [][]string{{v.Name, "-h"}, {v.Name, "add", "-h"},
			{v.Name, "set", "-h"}, {v.Name, "list", "-h"}} {
			c := newConsole(t, newHome(t))
			if c.tandem(t.Context(), args...) == 0 {
				usages++
			}
			if found := secret.FindString(c.stderr); found != "" {
				t.Errorf("the usage of tandem %q has the flag %s", args, found)
			}
		}
	}
	if usages < len(newMain().Verbs) {
		t.Errorf("the test has read %d usages, want one for each of %d verbs at least",
			usages, len(newMain().Verbs))
	}
}
