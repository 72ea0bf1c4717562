package main

import (
	"regexp"
	"strings"
	"testing"
)

// No verb takes a key, a token or a password by a flag. Every user of the machine can read the
// arguments of a program.
func TestNoSecretIsAnArgument(t *testing.T) {
	secret := regexp.MustCompile(`(?mi)^\s+-[a-z-]*(key|token|secret|password|auth|credential)\b`)
	usages := 0
	for _, v := range verbs() {
		for _, args := range [][]string{{v.name, "-h"}, {v.name, "add", "-h"},
			{v.name, "set", "-h"}, {v.name, "list", "-h"}} {
			c := newConsole(t, newHome(t))
			if c.tandem(t.Context(), args...) == 0 {
				usages++
			}
			if found := secret.FindString(c.stderr); found != "" {
				t.Errorf("the usage of tandem %q has the flag %s", args, found)
			}
		}
	}
	if usages < len(verbs()) {
		t.Errorf("the test has read %d usages, want one for each of %d verbs at least",
			usages, len(verbs()))
	}
}

// A table prints control characters as U+FFFD, so that no name moves the terminal's cursor.
func TestTableHasNoControlCharacters(t *testing.T) {
	var out strings.Builder
	if err := table(&out, []string{"MODEL", "CLIENT"},
		[][]string{{"\x1b]0;gone\a", "a\tb\nc"}, {"\u009b2J", "\u202eab\r"},
			{"é 日本", "-"}}); err != nil {
		t.Fatal(err)
	}
	const want = "MODEL      CLIENT\n�]0;gone�  a�b�c\n�2J        �ab�\né 日本       -\n"
	if out.String() != want {
		t.Errorf("the table is %q, want %q", out.String(), want)
	}
}
