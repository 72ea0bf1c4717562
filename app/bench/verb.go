package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tandem/app/terminal"
)

// Verb returns the verb of a program that measures with the benches of a list. The name of a bench
// follows it, before or after the bench's own flags. home returns the home folder, see [Env].
func Verb(p *terminal.Program, doc string, list []Bench, home func() string) terminal.Verb {
	v := terminal.Verb{Name: "bench", Args: "NAME", Doc: doc,
		Needs: fmt.Sprintf("the name of a bench: %s bench NAME", p.Name)}
	for _, b := range list {
		v.Subs = append(v.Subs, terminal.Verb{Name: b.Name, Doc: b.Doc})
	}
	v.Run = func(ctx context.Context, args []string) error {
		f := p.Flags(v.Name)
		if len(args) == 0 || slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
			_, err := p.Parse(f, args, 1, 1)
			return err
		}
		at := 0 // of the name
		if strings.HasPrefix(args[0], "-") {
			if at = theName(list, args); at < 0 {
				return terminal.Mistake(f, fmt.Sprintf("the name of a bench comes first: %s NAME [flags]", f.Name()))
			}
		}
		name := args[at]
		i := indexOf(list, name)
		if i < 0 {
			fmt.Fprintf(p.Stderr, "%s: there is no bench %q", f.Name(), name)
			if hint := p.Hints[v.Name]; hint != "" {
				fmt.Fprintf(p.Stderr, "; %s", hint)
			}
			fmt.Fprintln(p.Stderr)
			f.Usage()
			return terminal.ErrUsage
		}
		f = p.Flags(v.Name + " " + name)
		r := list[i].NewRun(f)
		if _, err := p.Parse(f, slices.Delete(slices.Clone(args), at, at+1), 0, 0); err != nil {
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

// indexOf returns the index of the bench of this name, or -1.
func indexOf(list []Bench, name string) int {
	return slices.IndexFunc(list, func(b Bench) bool { return b.Name == name })
}

// theName returns the index of the argument that names a bench. It returns -1 without a name, or if
// one of several may be the value of a flag.
func theName(list []Bench, args []string) int {
	at := -1
	for i, arg := range args {
		if indexOf(list, arg) < 0 {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
	return at
}
