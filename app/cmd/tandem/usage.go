package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tandem/app/control"
)

// A verb is one word of the command line. What it takes beside flags stands in the table; the flags
// are printed from its FlagSet.
type verb struct {
	name string
	args string // positional arguments
	doc  string // one line
	run  func(ctx context.Context, m *Main, args []string) error
	subs []verb // the words that may follow; their run is this verb's
}

// findVerb returns the verb that a FlagSet's name leads to, such as "models add".
func findVerb(path string) verb {
	found, list := verb{}, verbs()
	for word := range strings.FieldsSeq(path) {
		i := slices.IndexFunc(list, func(v verb) bool { return v.name == word })
		if i < 0 {
			return found
		}
		found, list = list[i], list[i].subs
	}
	return found
}

// words joins the words of list that are not empty.
func words(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

func (m *Main) help() {
	fmt.Fprintln(m.Stderr, "usage: tandem VERB [flags] [arguments]")
	for _, v := range verbs() {
		fmt.Fprintf(m.Stderr, "\n  %s\n        %s\n", words(v.name, v.args), v.doc)
		for _, sub := range v.subs {
			fmt.Fprintf(m.Stderr, "    %s\n        %s\n", words(sub.name, sub.args), sub.doc)
		}
	}
	fmt.Fprintln(m.Stderr, "\ntandem VERB -h explains a verb and its flags; tandem --version prints the version")
}

// flags makes the FlagSet of a verb, whose name is its path: "models add".
func (m *Main) flags(path string) *flag.FlagSet {
	f := flag.NewFlagSet("tandem "+path, flag.ContinueOnError)
	f.SetOutput(m.Stderr)
	f.Usage = func() {
		v := findVerb(path)
		fmt.Fprintf(m.Stderr, "usage: %s\n%s\n", words(f.Name(), synopsisOf(f), v.args), v.doc)
		f.PrintDefaults()
		for _, sub := range v.subs {
			fmt.Fprintf(m.Stderr, "  %s\n        %s\n", words(sub.name, sub.args), sub.doc)
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

// mistake prints what is wrong with the value of a flag, and returns errUsage.
func mistake(f *flag.FlagSet, text string) error {
	fmt.Fprintf(f.Output(), "%s: %s\n", f.Name(), text)
	return errUsage
}

// parse reads the flags of a verb, which may stand before and after its positional arguments. It
// returns the arguments: at least min, at most max of them.
func parse(f *flag.FlagSet, args []string, min, max int) ([]string, error) {
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
		fmt.Fprintf(f.Output(), "%s needs %s\n", f.Name(), needs(f.Name()))
	case len(rest) > max && max == 0:
		fmt.Fprintf(f.Output(), "%s takes no arguments but flags; %q is one too many\n", f.Name(),
			rest[0])
		return nil, errUsage
	case len(rest) > max:
		most := "one argument"
		if max > 1 {
			most = control.Plural(max, "argument")
		}
		fmt.Fprintf(f.Output(), "%s takes %s; %q is one too many\n", f.Name(), most, rest[max])
		return nil, errUsage
	default:
		return rest, nil
	}
	f.Usage()
	return nil, errUsage
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
	return mistake(f, fmt.Sprintf("%s\n`%s -h` lists the flags", flagMistake(f, err), f.Name()))
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

// needs says which argument a verb cannot do without.
func needs(name string) string {
	switch name {
	case "tandem run":
		return "a prompt: tandem run 'PROMPT', or tandem run - to read it from standard input"
	case "tandem pull":
		return "the model to download: tandem pull ORG/NAME"
	case "tandem models add":
		return "the model's folder or GGUF file: tandem models add FOLDER|FILE.gguf|ID; " +
			"`tandem models found` lists ids"
	case "tandem checkpoints show", "tandem checkpoints pin", "tandem checkpoints unpin",
		"tandem checkpoints delete", "tandem checkpoints branch":
		return "a checkpoint's id or name: `tandem checkpoints list` shows them"
	case "tandem checkpoints name":
		return "a checkpoint's id and its name: tandem checkpoints name ID NAME; an empty name takes it away"
	case "tandem runs resume", "tandem runs verify":
		return "a run's id: `tandem runs` lists them"
	case "tandem models drafter":
		return "the model's id: tandem models drafter ID, or tandem models drafter ID FOLDER to set its drafter"
	case "tandem models remove":
		return "the model's id: tandem models remove ID"
	case "tandem settings set":
		return "what to set: tandem settings set NAME=VALUE; `tandem settings` lists the names"
	case "tandem bridge request":
		return "a preset: tandem bridge request PRESET; `tandem bridge presets` lists them"
	case "tandem keys add", "tandem keys delete":
		return "a key's name: tandem keys add NAME"
	case "tandem bench":
		return "the name of a bench: tandem bench NAME"
	case "tandem evidence check":
		return "a file with reports: tandem evidence check FILE..., or tandem evidence check - to read standard input"
	}
	return "an argument"
}
