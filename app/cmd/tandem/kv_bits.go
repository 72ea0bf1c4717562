package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"

	"tandem/app"
	"tandem/app/control"
)

// A kvBitsFlag is the flag --kv-bits of serve and run.
type kvBitsFlag struct {
	bits  int
	given bool
}

// add adds the flag to a set.
func (k *kvBitsFlag) add(f *flag.FlagSet) {
	f.Func("kv-bits", "keep keys and values in `8|4|0` bits an element, where a layer attends all positions; "+
		"0 keeps them as computed (default: the setting kv_bits, 0 unless changed)",
		func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || !slices.Contains(control.KVBits, n) {
				return fmt.Errorf("it must be 8, 4 or 0")
			}
			k.bits, k.given = n, true
			return nil
		})
}

// refuseBits says what to do in place of the flag where a Tandem runs that has loaded models already.
func refuseBits(ctx context.Context, c *control.Client) error {
	st, err := c.Settings(ctx)
	if err != nil {
		return err
	}
	advice := "write `tandem settings set kv_bits=N` and unload the model, or stop that Tandem"
	for _, s := range st.Sources {
		if s.Name == "kv_bits" && s.By != "" {
			advice = "there " + s.By + " decides, so stop that Tandem"
		}
	}
	return fmt.Errorf("a Tandem runs already, and --kv-bits counts for models that are loaded here; %s",
		advice)
}

// decide lets the flag decide the setting, if it is given.
func (k *kvBitsFlag) decide(o *app.Options) {
	if k.given {
		o.Settings.KVBits = k.bits
		o.Given["kv_bits"] = control.Given{Source: control.FromFlag, By: "--kv-bits"}
	}
}
