package bench

import (
	"github.com/spf13/cobra"

	"tandem/app/terminal"
)

// Command returns the verb of a program that measures with the benches of a list. hint says where others
// are. home returns the home folder, see [Env].
func Command(p *terminal.Program, short, hint string, list []Bench, home func() string) *cobra.Command {
	c := &cobra.Command{Use: "bench NAME", Short: short, Annotations: map[string]string{"": hint}}
	var benches []*cobra.Command
	for _, b := range list {
		x := &cobra.Command{Use: b.Name, Short: b.Doc, Args: terminal.NoArgs}
		r := b.NewRun(x.Flags())
		x.RunE = func(x *cobra.Command, _ []string) error {
			e := Env{Home: home(), In: p.Stdin, Out: p.Stdout, Err: p.Stderr}
			if !p.Terminal {
				e.Err = &terminal.StepWriter{W: p.Stderr}
			}
			return r.Do(x.Context(), e)
		}
		benches = append(benches, x)
	}
	return terminal.Verbs(c, benches...)
}
