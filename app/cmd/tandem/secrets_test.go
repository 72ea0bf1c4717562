package main

import (
	"regexp"
	"strings"
	"testing"
)

// Every user of the machine can read a program's arguments. Therefore no verb takes a key, a token
// or a password by a flag.
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
				t.Errorf("tandem %q takes %s", args, found)
			}
		}
	}
	if usages < len(verbs()) {
		t.Errorf("%d usages of %d verbs were read", usages, len(verbs()))
	}
}

// No name in a table moves the terminal's cursor.
func TestTableHasNoControlCharacters(t *testing.T) {
	var out strings.Builder
	if err := table(&out, []string{"MODEL", "CLIENT"},
		[][]string{{"\x1b]0;gone\a", "a\tb\nc"}, {"\u009b2J", "\u202eab\r"},
			{"é 日本", "-"}}); err != nil {
		t.Fatal(err)
	}
	const want = "MODEL      CLIENT\n�]0;gone�  a�b�c\n�2J        �ab�\né 日本       -\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
