package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tandem/app/terminal"
)

// Verb returns the verb of a program that measures with the benches of a list. The name of a bench
// follows it, then the bench's own flags. home returns the home folder, see [Env].
func Verb(p *terminal.Program, doc string, list []Bench, home func() string) terminal.Verb {
	v := terminal.Verb{Name: "bench", Args: "NAME", Doc: doc,
		Needs: fmt.Sprintf("the name of a bench: %s bench NAME", p.Name)}
	for _, b := range list {
		v.Subs = append(v.Subs, terminal.Verb{Name: b.Name, Doc: b.Doc})
	}
	v.Run = func(ctx context.Context, args []string) error {
		f := p.Flags(v.Name)
		if len(args) == 0 || strings.HasPrefix(args[0], "-") {
			_, err := p.Parse(f, args, 1, 1)
			return err
		}
		i := slices.IndexFunc(list, func(b Bench) bool { return b.Name == args[0] })
		if i < 0 {
			fmt.Fprintf(p.Stderr, "%s: there is no bench %q\n", f.Name(), args[0])
			f.Usage()
			return terminal.ErrUsage
		}
		f = p.Flags(v.Name + " " + args[0])
		r := list[i].NewRun(f)
		if _, err := p.Parse(f, args[1:], 0, 0); err != nil {
			return err
		}
		e := Env{Home: home(), In: p.Stdin, Out: p.Stdout, Err: p.Stderr}
		if !p.Terminal {
			e.Err = &terminal.StepWriter{W: p.Stderr}
		}
		return r.Do(ctx, e)
	}
	return v
}
