package main

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// No verb takes a key, a token or a password by a flag. Every user of the machine can read the
// arguments of a program.
func TestNoSecretIsAnArgument(t *testing.T) {
	secret := regexp.MustCompile(`(?i)(key|token|secret|password|auth|credential)$`)
	flags := 0
	eachVerb(newMain().Root, func(v *cobra.Command) {
		v.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			if secret.MatchString(f.Name) {
				t.Errorf("%s has the flag --%s", v.CommandPath(), f.Name)
			}
		})
	})
	if flags < 60 {
		t.Errorf("the test has read %d flags", flags)
	}
}
