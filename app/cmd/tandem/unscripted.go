//go:build !scripted

package main

import (
	"flag"

	"tandem/app"
)

// engineFlags adds none: all engines are real but in a program that tests clients.
func engineFlags(*flag.FlagSet) func(*app.Options) error {
	return func(*app.Options) error { return nil }
}
