//go:build !scripted

package main

import (
	"github.com/spf13/pflag"

	"tandem/app"
)

// engineFlags adds no flags: only a program that tests clients has scripted engines.
func engineFlags(*pflag.FlagSet) func(*app.Options) error {
	return func(*app.Options) error { return nil }
}
