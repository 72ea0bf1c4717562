package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/terminal"
)

// A kvBitsFlag is the flag --kv-bits of serve and run, empty if it is not given.
type kvBitsFlag string

// add adds the flag to a verb.
func (k *kvBitsFlag) add(cmd *cobra.Command) {
	terminal.Choice(cmd, (*string)(k), "kv-bits", "keep keys and values in `8|4|0` bits an element, where a layer attends all positions; "+
		"0 keeps them as computed (default: "+app.KVBitsVariable+", else what is set for the model, else the setting kv_bits)",
		"8", "4", "0")
}

// bits returns the value of a flag that is given.
func (k kvBitsFlag) bits() int {
	n, _ := strconv.Atoi(string(k)) // add lets numbers through alone
	return n
}

// check refuses the flag for the model that is named, if another process serves it. It passes the flag if the model
// has these bits there, or will have them when it is loaded. The error says what to do in place of
// the flag.
func (k kvBitsFlag) check(ctx context.Context, c *control.Client, name string) error {
	state, err := control.Ask(ctx, c, control.GetState)
	if err != nil || state.PID == os.Getpid() {
		return err
	}
	id, err := idOf(ctx, c, name)
	if err != nil {
		return err
	}
	st, err := control.Ask(ctx, c, control.GetSettings)
	if err != nil {
		return err
	}
	bits, by := st.Settings.KVBits, ""
	for _, s := range st.Sources {
		if s.Name == "kv_bits" {
			by = s.By
		}
	}
	own := false // what is set for the model decides
	if set, err := control.Call(ctx, c, control.GetModelSettings,
		id); err == nil && by == "" && set.Settings.KVBits != nil {
		bits, own = *set.Settings.KVBits, true
	}
	next := bits // of the next load
	if l := state.Resident(id); l != nil {
		bits = l.KVBits
	}
	if bits == k.bits() {
		return nil
	}
	advice := "write `tandem settings set kv_bits=N` and unload the model by `tandem models unload`, or stop that Tandem"
	switch {
	case next == k.bits(): // it was set after the load
		advice = "its next load has " + strconv.Itoa(next) + ", so unload it by `tandem models unload`"
	case by != "":
		advice = "there " + by + " decides, so stop that Tandem"
	case own:
		advice = "change what is set for the model on the page Models and unload it, or stop that Tandem"
	}
	return fmt.Errorf("a Tandem runs already, where %s has kv_bits %d, and --kv-bits counts for models that are loaded here; %s",
		id, bits, advice)
}

// decide lets the flag decide the setting, if it is given.
func (k kvBitsFlag) decide(o *app.Options) {
	if k != "" {
		o.Settings.KVBits = k.bits()
		o.Overrides["kv_bits"] = control.Given{Source: control.FromFlag, By: "--kv-bits"}
	}
}
