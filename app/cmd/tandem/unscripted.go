//go:build !scripted

package main

import (
	"flag"

	"tandem/app"
)

// engineFlags adds no flags: only a program that tests clients has scripted engines.
func engineFlags(*flag.FlagSet) func(*app.Options) error {
	return func(*app.Options) error { return nil }
}
