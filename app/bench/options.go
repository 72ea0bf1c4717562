package bench

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// ModelOptions name the model that a bench measures.
type ModelOptions struct {
	Model string // folder; empty = the pocket model
}

// Flags declares --model.
func (o *ModelOptions) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.Model, "model", "", "`DIR` of the model (default: the pocket model)")
}

// DraftOptions name a model and drafters for it.
type DraftOptions struct {
	ModelOptions
	Drafters []string // folders; empty = see [LoadDrafters]
}

// Flags declares --model and --drafter, which may be given several times.
func (o *DraftOptions) Flags(f *pflag.FlagSet) {
	o.ModelOptions.Flags(f)
	f.Func("drafter", "`DIR` of a drafter for the model; may be given several times",
		func(dir string) error {
			o.Drafters = append(o.Drafters, dir)
			return nil
		})
}

// QuickFlag declares --quick.
func QuickFlag(f *pflag.FlagSet, quick *bool) {
	f.BoolVar(quick, "quick", false, "few measurements, to see that it works")
}

// pairsFlag declares --pairs.
func pairsFlag(f *pflag.FlagSet, pairs *int) {
	f.Func("pairs", "measure at least `N` pairs for a comparison (default 20)", Positive(pairs))
}

// Positive returns a flag's function that stores a number above 0.
func Positive(to *int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number above 0", text)
		}
		*to = n
		return nil
	}
}
