package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A UsageError is a mistake on the command line, in at most three lines.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

// Mistake returns what is wrong on the command line of a verb.
func Mistake(c *cobra.Command, text string) error {
	return &UsageError{c.CommandPath() + ": " + text}
}

// Missing returns that a verb cannot do without an argument, and how the verb is written.
func Missing(c *cobra.Command, needs string) error {
	return &UsageError{fmt.Sprintf("%s needs %s: %s\n`%[1]s -h` explains it", c.CommandPath(), needs, written(c))}
}

// Args lets a verb take min to max words. needs says which one is missing if there are fewer.
func Args(min, max int, needs string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		takes := fmt.Sprintf("%d arguments", max)
		switch {
		case len(args) < min:
			return Missing(c, needs)
		case len(args) <= max:
			return nil
		case max == 0:
			takes = "only flags"
		case max == 1:
			takes = "one argument"
		}
		return &UsageError{fmt.Sprintf("%s takes %s; leave out %q", c.CommandPath(), takes, args[max])}
	}
}

// NoArgs lets a verb take flags alone.
func NoArgs(c *cobra.Command, args []string) error { return Args(0, 0, "")(c, args) }

// Verbs adds verbs below c, which then takes no other words. Where a verb is missing, c runs its own
// RunE; nil makes that a mistake. c.Annotations may say what to type instead of an unknown word: by
// that word, or by the empty one for all.
func Verbs(c *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	c.AddCommand(verbs...)
	if c.RunE == nil {
		c.RunE = func(c *cobra.Command, _ []string) error {
			return &UsageError{fmt.Sprintf("%s needs a verb; `%[1]s -h` lists them", c.CommandPath())}
		}
	}
	// A switch may come before the verb that has it: cobra would take the verb for its value.
	switches := map[string]bool{}
	for _, v := range verbs {
		v.Flags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" && c.Flags().Lookup(f.Name) == nil {
				hidden := *f
				hidden.Hidden = true
				c.Flags().AddFlag(&hidden)
				switches[f.Name] = true
			}
		})
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownVerb(c, args[0])
		}
		var err error
		c.Flags().Visit(func(f *pflag.Flag) {
			if switches[f.Name] {
				err = flagMistake(c, fmt.Errorf("there is no flag --%s without a verb", f.Name))
			}
		})
		return err
	}
	return c
}

// unknownVerb says what a person probably means by a word that is no verb of c.
func unknownVerb(c *cobra.Command, word string) error {
	lists := "`" + c.CommandPath() + " -h` lists them"
	if !c.HasParent() {
		lists = "`" + c.Name() + " help all` lists them"
	}
	hint, near := c.Annotations[word], near(c, word)
	if !c.HasParent() {
		near = append(near, Near(word, "help")...) // cobra never suggests it
	}
	if hint == "" && len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	hint = cmp.Or(hint, c.Annotations[""], lists)
	return Mistake(c, fmt.Sprintf("there is no verb %q; %s", word, hint))
}

// near returns the verbs below c that a word is probably meant for, three at most.
func near(c *cobra.Command, word string) []string {
	c.SuggestionsMinimumDistance = 2 // letters that may be wrong
	if len(word) < 4 {
		c.SuggestionsMinimumDistance = 1
	}
	found := slices.Compact(c.SuggestionsFor(word))
	return found[:min(3, len(found))]
}

// Near returns the names that a word is probably meant for, three at most.
func Near(word string, names ...string) []string {
	c := &cobra.Command{} // cobra knows what is near to the names of commands
	for _, name := range names {
		c.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return near(c, word)
}

// flagMistake returns what is wrong with the flags of a verb.
func flagMistake(c *cobra.Command, err error) error {
	text := err.Error()
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		dashes := "--"
		if e.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		name, _, _ := strings.Cut(cmp.Or(e.GetSpecifiedShortnames(), e.GetSpecifiedName()), "=")
		text = "there is no flag " + dashes + name
		program := strings.Contains(c.Use, "[-- ") // it starts one
		switch near := nearFlags(c, name); {
		case strings.Contains(name, " "):
			text = fmt.Sprintf("there is no flag %q; put text that begins with a dash after --", dashes+name)
		case len(near) > 0 && (!program || len(name) > 2):
			text += "; did you mean " + strings.Join(near, ", ") + "?"
		case program:
			text += "; the program's own flags go after --"
		}
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		why := e.Unwrap().Error()
		if _, ok := errors.AsType[*strconv.NumError](err); ok {
			what := cmp.Or(parsed[e.GetFlag().Value.Type()], "a whole number")
			if errors.Is(err, strconv.ErrRange) {
				what = "in range"
			}
			why = fmt.Sprintf("must be %s, not %q", what, e.GetValue())
		}
		if strings.HasPrefix(why, "must ") {
			text = fmt.Sprintf("--%s %s", e.GetFlag().Name, why)
		}
	}
	return Mistake(c, fmt.Sprintf("%s\n`%s -h` lists the flags", text, c.CommandPath()))
}

// parsed says what flags of a type take, if that is not a whole number.
var parsed = map[string]string{"bool": "true or false", "float64": "a number", "uint": "a whole number of at least 0"}

// nearFlags returns how the flags are written that an unknown name probably means. Other servers have
// --host and --port for --addr.
func nearFlags(c *cobra.Command, name string) (near []string) {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if slices.Contains([]string{"port", "host", "listen"}, name) {
		name = "addr"
	}
	for _, found := range Near(name, names...) {
		value, _ := pflag.UnquoteUsage(c.Flags().Lookup(found))
		near = append(near, strings.TrimSpace("--"+found+" "+value))
	}
	return near
}
