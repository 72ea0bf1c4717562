package terminal

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A Verb is one word of the command line. What it takes beside flags is in the table; the flags are
// printed from its FlagSet.
type Verb struct {
	Name  string
	Args  string // positional arguments
	Doc   string // one line
	Needs string // which argument it cannot do without, and how to write it
	Run   func(ctx context.Context, args []string) error
	Subs  []Verb // the words that may follow; their Run is this verb's
}

// find returns the verb that a FlagSet's name leads to, such as "models add".
func (p *Program) find(path string) Verb {
	found, list := Verb{}, p.Verbs
	for word := range strings.FieldsSeq(path) {
		i := slices.IndexFunc(list, func(v Verb) bool { return v.Name == word })
		if i < 0 {
			return found
		}
		found, list = list[i], list[i].Subs
	}
	return found
}

// words joins the words of list that are not empty.
func words(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

func (p *Program) help() {
	fmt.Fprintf(p.Stderr, "usage: %s VERB [flags] [arguments]\n", p.Name)
	for _, v := range p.Verbs {
		fmt.Fprintf(p.Stderr, "\n  %s\n        %s\n", words(v.Name, v.Args), v.Doc)
		for _, sub := range v.Subs {
			fmt.Fprintf(p.Stderr, "    %s\n        %s\n", words(sub.Name, sub.Args), sub.Doc)
		}
	}
	fmt.Fprintf(p.Stderr, "\n%[1]s VERB -h explains a verb and its flags; %[1]s --version prints the version\n",
		p.Name)
}

// Flags makes the FlagSet of a verb, whose name is its path: "models add".
func (p *Program) Flags(path string) *flag.FlagSet {
	f := flag.NewFlagSet(p.Name+" "+path, flag.ContinueOnError)
	f.SetOutput(p.Stderr)
	f.Usage = func() {
		v := p.find(path)
		fmt.Fprintf(p.Stderr, "usage: %s\n%s\n", words(f.Name(), synopsisOf(f), v.Args), v.Doc)
		f.PrintDefaults()
		for _, sub := range v.Subs {
			fmt.Fprintf(p.Stderr, "  %s\n        %s\n", words(sub.Name, sub.Args), sub.Doc)
		}
	}
	return f
}

// synopsisOf lists the flags of a set as a synopsis does: [--id NAME] [--json].
func synopsisOf(f *flag.FlagSet) string {
	var list []string
	f.VisitAll(func(x *flag.Flag) {
		name, _ := flag.UnquoteUsage(x)
		if name != "" {
			name = " " + name
		}
		list = append(list, "[--"+x.Name+name+"]")
	})
	return strings.Join(list, " ")
}

// Mistake prints what is wrong with the value of a flag, and returns [ErrUsage].
func Mistake(f *flag.FlagSet, text string) error {
	fmt.Fprintf(f.Output(), "%s: %s\n", f.Name(), text)
	return ErrUsage
}

// Parse reads the flags of a verb, which may come before and after its positional arguments. It
// returns the arguments: at least min, at most max of them.
func (p *Program) Parse(f *flag.FlagSet, args []string, min, max int) ([]string, error) {
	var rest []string
	for {
		if err := parseFlags(f, args); err != nil {
			return nil, err
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	switch {
	case len(rest) < min:
		return nil, p.Missing(f)
	case len(rest) > max && max == 0:
		fmt.Fprintf(f.Output(), "%s takes no arguments but flags; %q is one too many\n", f.Name(),
			rest[0])
		return nil, ErrUsage
	case len(rest) > max:
		most := "one argument"
		if max > 1 {
			most = fmt.Sprintf("%d arguments", max)
		}
		fmt.Fprintf(f.Output(), "%s takes %s; %q is one too many\n", f.Name(), most, rest[max])
		return nil, ErrUsage
	}
	return rest, nil
}

// Missing prints which argument a verb cannot do without and how the verb is used, and returns
// [ErrUsage].
func (p *Program) Missing(f *flag.FlagSet) error {
	fmt.Fprintf(f.Output(), "%s needs %s\n", f.Name(),
		cmp.Or(p.find(strings.TrimPrefix(f.Name(), p.Name)).Needs, "an argument"))
	f.Usage()
	return ErrUsage
}

// parseFlags is f.Parse, except that a mistake prints one line and how to list the flags, and not all
// of them.
func parseFlags(f *flag.FlagSet, args []string) error {
	output, usage := f.Output(), f.Usage
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	err := f.Parse(args)
	f.SetOutput(output)
	f.Usage = usage
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		usage()
		return err
	}
	return Mistake(f, fmt.Sprintf("%s\n`%s -h` lists the flags", flagMistake(f, err), f.Name()))
}

// flagMistake returns what an error of f.Parse says, with flags as help writes them: --addr.
func flagMistake(f *flag.FlagSet, err error) string {
	text := err.Error()
	if name, unknown := strings.CutPrefix(text, "flag provided but not defined: -"); unknown {
		near := ""
		if x := nearFlag(f, name); x != nil {
			value, _ := flag.UnquoteUsage(x)
			near = "; did you mean " + words("--"+x.Name, value) + "?"
		}
		return fmt.Sprintf("there is no flag --%s%s", name, near)
	}
	for _, before := range []string{"invalid value ", "invalid boolean value "} {
		value, err := strconv.QuotedPrefix(strings.TrimPrefix(text, before))
		if rest, found := strings.CutPrefix(text, before+value); found && err == nil {
			return before + value + strings.Replace(rest, " -", " --", 1) // for -json, or for flag -addr
		}
	}
	return strings.Replace(text, "flag needs an argument: -", "flag needs an argument: --", 1)
}

// nearFlag returns the flag that an unknown name probably means, or nil. Other servers have --host
// and --port where Tandem has --addr.
func nearFlag(f *flag.FlagSet, name string) (near *flag.Flag) {
	if name == "port" || name == "host" || name == "listen" {
		return f.Lookup("addr")
	}
	const most = 2 // letters that may be wrong
	best := most + 1
	f.VisitAll(func(x *flag.Flag) {
		if n := editDistance(name, x.Name); n < best && n < len(x.Name)/2 {
			near, best = x, n
		}
	})
	return near
}

// editDistance counts the bytes to add, remove or change in a to get b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
