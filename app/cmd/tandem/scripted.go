//go:build scripted

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"tandem/app"
	"tandem/app/modeltest"
)

// engineFlags adds the flags of a program that tests clients. It returns the function that puts
// them into the options.
func engineFlags(f *pflag.FlagSet) func(*app.Options) error {
	kind := f.String("engine", "", "scripted: answers come from --script")
	path := f.String("script", "", "`FILE` of cues, see modeltest.Script")
	return func(o *app.Options) error {
		if *kind == "" {
			return nil
		}
		if *kind != "scripted" {
			return fmt.Errorf("there is no engine %q; there is scripted", *kind)
		}
		text, err := os.ReadFile(*path)
		if err != nil {
			return err
		}
		script, err := modeltest.ReadScript(text)
		o.Generate = script.Generate
		return err
	}
}
