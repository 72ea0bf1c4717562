package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// columns is the width that help keeps to.
const columns = 80

// addHelp adds -h, `help`, `help all`, --version and `version` to the verbs. What a person asked for
// goes to standard output.
func (p *Program) addHelp() {
	root := p.Root
	root.SetUsageFunc(p.printUsage)
	root.PersistentFlags().BoolP("help", "h", false, "explain a verb and its flags")
	root.PersistentFlags().Lookup("help").Hidden = true // every verb has it
	ofVerb := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root {
			p.printFront()
		} else {
			ofVerb(c, args)
		}
	})
	root.SetHelpCommand(&cobra.Command{Use: "help [VERB|all]", Short: "explain a verb, or list all of them",
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, words []string) error {
			if len(words) == 1 && words[0] == "all" {
				p.printAll()
				return nil
			}
			c, rest, err := root.Find(words)
			if err == nil && len(rest) > 0 {
				err = unknownVerb(c, rest[0])
			}
			if err != nil {
				return err
			}
			return c.Help()
		}})
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Short = "print a script that completes words in a shell"
		Verbs(completion)
	}
	printVersion := func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(p.Stdout, p.Name, p.Version)
		return err
	}
	root.AddCommand(&cobra.Command{Use: "version", Short: "print the version", Hidden: true,
		Args: NoArgs, RunE: printVersion})
	version := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(c *cobra.Command, args []string) error {
		if *version {
			return printVersion(c, args)
		}
		return c.Help()
	}
}

// printUsage prints how a verb is written, the verbs below it, examples and flags. A template, as cobra's
// own for it, would keep the linker from dropping methods that are never called.
func (p *Program) printUsage(c *cobra.Command) error {
	w := c.OutOrStdout()
	fmt.Fprintf(w, "Usage:\n  %s\n", c.UseLine())
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s VERB\n\nVerbs:\n", c.CommandPath())
		for _, v := range c.Commands() {
			printLine(w, v)
		}
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(min(columns, width(p.Stdout))))
	}
	return nil
}

// printLine prints the line of a verb in a list.
func printLine(w io.Writer, v *cobra.Command) {
	if v.IsAvailableCommand() {
		fmt.Fprintf(w, "  %-12s%s\n", v.Name(), v.Short)
	}
}

// printFront prints the verbs that people need, on one screen: those in a group, if there are groups.
func (p *Program) printFront() {
	c := p.Root
	fmt.Fprintf(p.Stdout, "%s\n\n", c.Long)
	groups := c.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Verbs:"}}
	}
	for _, g := range groups {
		fmt.Fprintln(p.Stdout, g.Title)
		for _, v := range c.Commands() {
			if v.GroupID == g.ID {
				printLine(p.Stdout, v)
			}
		}
	}
	if c.Example != "" {
		fmt.Fprintf(p.Stdout, "Examples:\n%s\n", c.Example)
	}
	fmt.Fprintf(p.Stdout, "\n`%s help VERB` explains a verb, `%[1]s help all` lists all of them.\n"+
		"Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n", p.Name)
}

// printAll prints every verb and those below it.
func (p *Program) printAll() {
	for _, v := range p.Root.Commands() {
		for _, x := range append([]*cobra.Command{v}, v.Commands()...) {
			if v.IsAvailableCommand() {
				fmt.Fprintf(p.Stdout, "%s\n    %s\n", written(x), x.Short)
			}
		}
	}
}

// written returns how a verb is written, without flags: prog show NAME.
func written(c *cobra.Command) string { return strings.TrimSuffix(c.UseLine(), " [flags]") }
