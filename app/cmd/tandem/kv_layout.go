package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"

	"tandem/app"
	"tandem/app/control"
)

// A kvLayoutFlag is the flags --kv-layout and --f-theta of serve.
type kvLayoutFlag struct{ layout, fTheta string }

// add adds the flags to a set.
func (k *kvLayoutFlag) add(f *flag.FlagSet) {
	f.StringVar(&k.layout, "kv-layout", "", "how rows of keys and values are kept: `ring|full|bounded`; "+
		"bounded keeps a sink and a window, and restores the rows between by an f_theta (default: ring)")
	f.StringVar(&k.fTheta, "f-theta", "", "`DIR` of the f_theta of bounded layers "+
		"(default: the folder f_theta in the drafter's or the model's)")
}

// check returns what is wrong with the flags, empty if nothing is.
func (k *kvLayoutFlag) check(given map[string]bool) string {
	switch {
	case given["kv-layout"] && !slices.Contains(control.KVLayouts, k.layout):
		return fmt.Sprintf("--kv-layout must be %s, not %q", control.Words(control.KVLayouts),
			k.layout)
	case given["f-theta"] && k.fTheta == "":
		return "--f-theta is empty; give it a folder, or leave it out for the one beside the drafter"
	case given["f-theta"] && k.layout != control.KVBounded:
		return "--f-theta counts with --kv-layout bounded alone"
	}
	return ""
}

// decide puts the flags into the options.
func (k *kvLayoutFlag) decide(o *app.Options) (err error) {
	if o.KVLayout = k.layout; k.fTheta != "" {
		o.FTheta, err = filepath.Abs(k.fTheta)
	}
	return err
}
