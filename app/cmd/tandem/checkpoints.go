package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

// checkpointArgs lets a verb take min to max words. The first is a checkpoint's id or name, and not empty.
func checkpointArgs(min, max int) cobra.PositionalArgs {
	const needs = "a checkpoint's id or name, which `tandem checkpoints` lists"
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && args[0] == "" {
			return terminal.Missing(cmd, needs)
		}
		return terminal.Args(min, max, needs)(cmd, args)
	}
}

func listCheckpoints(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list them, the last used first: * marks the pinned ones", Args: terminal.NoArgs}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "one JSON object a line")
	model := f.String("model", "", "only checkpoints of the model `ID`")
	limit := f.Uint("limit", 0, "only the `N` that were used last (default: all)")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, _ []string) error {
		var list []control.Checkpoint
		for x, err := range c.EachCheckpoint(ctx, *model) {
			if err != nil {
				return err
			}
			if list = append(list, x); uint(len(list)) == *limit {
				break
			}
		}
		var titles map[string]string
		if !*asJSON {
			var err error
			if titles, err = c.CheckpointTitles(ctx, list); err != nil {
				return err
			}
		}
		return terminal.List[control.Checkpoint]{
			Columns: checkpointColumns,
			Row:     func(x control.Checkpoint) []any { return checkpointRow(x, titles[x.ID]) },
			Empty:   "there are no checkpoints; requests leave them, and `tandem run 'PROMPT'` is one",
		}.Print(&m.Program, *asJSON, list)
	})
	return cmd
}

// checkpointColumns are the columns of `tandem checkpoints list`.
var checkpointColumns = []terminal.Column{{Name: "ID", Whole: true}, {Name: "TITLE"}, {Name: "NAME", Spare: true},
	{Name: "PIN", Spare: true}, {Name: "KEPT", Spare: true}, {Name: "MODEL"}, {Name: "KIND", Spare: true},
	{Name: "TOKENS"}, {Name: "OWN", Spare: true}, {Name: "SIZE"}, {Name: "HITS", Spare: true}, {Name: "USED"},
	{Name: "RUN", Spare: true}}

// checkpointRow returns the row of a checkpoint in the table.
func checkpointRow(x control.Checkpoint, title string) []any {
	shown := terminal.Marked{Cell: cmp.Or(x.Name, x.Title, title, "-")}
	pin, kept := "-", "all"
	if x.Pinned {
		pin = "pinned"
		shown = terminal.Marked{Cell: "*" + fmt.Sprint(shown.Cell), As: terminal.Chosen}
	}
	if x.TextOnly {
		kept = "text"
	}
	return []any{x.ID, shown, cmp.Or(x.Name, "-"), pin, kept, terminal.ID(x.Model), x.Kind, x.ToToken,
		x.ToToken - x.FromToken, terminal.Figure(control.ByteSize(x.Bytes)), x.Hits, x.UsedAt,
		terminal.Figure(runOf(x.Run))}
}

// listTexts returns the verb that lists what the memory of texts holds of each client, never a text, or
// forgets it.
func listTexts(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "texts", Short: "list what is remembered of each client's texts",
		Args: terminal.NoArgs,
		Long: "Lists what is remembered of each client's texts, to draft similar ones."}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "one JSON object a line")
	of := f.String("forget", "", "forget the texts of the client with the `KEY`, which the list has; - is all without a key")
	yes := f.Bool("yes", false, "do not ask")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, _ []string) error {
		stored, err := control.Ask(ctx, c, control.GetStorage)
		if err != nil {
			return err
		}
		if *of != "" {
			return m.forgetTexts(cmd, c, stored.Texts, *of, *yes)
		}
		return terminal.List[control.RememberedTexts]{
			Columns: []terminal.Column{{Name: "KEY"}, {Name: "TEXTS"}, {Name: "TOKENS"}, {Name: "SIZE"}, {Name: "USED"}},
			Row: func(x control.RememberedTexts) []any {
				return []any{cmp.Or(x.Key, "-"), x.Texts, x.Tokens, terminal.Figure(control.ByteSize(x.Bytes)), x.UsedAt}
			},
			Empty: "no texts are remembered; requests leave them, and `tandem run 'PROMPT'` is one",
		}.Print(&m.Program, *asJSON, stored.Texts)
	})
	return cmd
}

// forgetTexts forgets the texts of the client that goes by a name in the list of texts.
func (m *Main) forgetTexts(cmd *cobra.Command, c *control.Client,
	list []control.RememberedTexts, of string, yes bool) error {
	i := slices.IndexFunc(list, func(x control.RememberedTexts) bool { return cmp.Or(x.Key, "-") == of })
	if i < 0 {
		return fmt.Errorf("no texts of %q are remembered; `tandem checkpoints texts` lists the keys", of)
	}
	would := control.Forgotten{Tokens: list[i].Tokens, Bytes: list[i].Bytes}
	if err := m.Confirm(cmd, yes, "forget "+would.Amount()); err != nil {
		return err
	}
	gone, err := control.Call(cmd.Context(), c, control.ForgetTexts, list[i].KeyID)
	if err == nil {
		m.Say("forgot %s", gone.Amount())
	}
	return err
}

// runOf formats the id of a checkpoint's run, - if it has none.
func runOf(id int64) string {
	if id == 0 {
		return "-"
	}
	return fmt.Sprint(id)
}

func showCheckpoint(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: "show one, and the end of its text", Args: checkpointArgs(1, 1)}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "one JSON object")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, rest []string) error {
		x, err := control.Call(ctx, c, control.GetCheckpoint,
			control.CheckpointRead{Checkpoint: rest[0]})
		if err != nil {
			return err
		}
		if *asJSON {
			return m.PrintJSON(x)
		}
		pinned := "no; it may go when space is needed"
		if x.Pinned {
			pinned = "yes"
		}
		rows := [][]any{
			{"checkpoint", x.ID},
			{"name", cmp.Or(x.Name, "-")},
			{"model", x.Model},
			{"kind", x.Kind},
			{"tokens", fmt.Sprintf("%d to %d", x.FromToken, x.ToToken)},
			{"continues", cmp.Or(x.Parent, "the beginning")},
			{"size", control.ByteSize(x.Bytes)},
			{"run", runOf(x.Run)},
			{"made", x.CreatedAt},
			{"used", fmt.Sprintf("%s, %s", m.Time(x.UsedAt), control.Plural(x.Hits, "time"))},
			{"pinned", pinned},
		}
		if x.TextOnly {
			rows = append(rows, []any{"kept",
				"only the text: this version computes differently and reads it again when it is used"})
		}
		if err := m.Facts(rows); err != nil {
			return err
		}
		if x.Text == "" {
			return m.Print("\nIts text cannot be shown: its model has been removed.")
		}
		return m.Print("\n... %s", x.Text)
	})
	return cmd
}

// changeCheckpoint lets a verb that takes words change the checkpoint that the first names.
func changeCheckpoint(m *Main, use, short string, words int,
	change func(args []string) control.CheckpointChange) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: checkpointArgs(words, words),
		RunE: m.asking(func(ctx context.Context, c *control.Client, args []string) error {
			_, err := control.Call(ctx, c, control.ChangeCheckpoint,
				control.CheckpointUpdate{Checkpoint: args[0], CheckpointChange: change(args)})
			return err
		})}
}

// changingCheckpoints returns the verbs that change one.
func changingCheckpoints(m *Main) []*cobra.Command {
	pin := func(is bool) func([]string) control.CheckpointChange {
		return func([]string) control.CheckpointChange { return control.CheckpointChange{Pinned: &is} }
	}
	return []*cobra.Command{
		changeCheckpoint(m, "name ID NAME", "name one; an empty name takes the name away", 2,
			func(args []string) control.CheckpointChange { return control.CheckpointChange{Name: &args[1]} }),
		changeCheckpoint(m, "pin ID", "keep one, however little it is used", 1, pin(true)),
		changeCheckpoint(m, "unpin ID", "unpin it, so that it can be evicted", 1, pin(false)),
	}
}

// verifyCheckpoints returns the verb that reads files whole, all if none is named. A number that names
// no checkpoint is a run, which is computed again.
func verifyCheckpoints(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "verify [ID|RUN]", Short: "read files whole, all if none is named; a run is computed again",
		Args: checkpointArgs(0, 1)}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "one JSON object a line")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, rest []string) error {
		names := rest
		if len(rest) == 0 {
			for x, err := range c.EachCheckpoint(ctx, "") {
				if err != nil {
					return err
				}
				names = append(names, x.ID)
			}
		}
		damaged := 0
		for _, name := range names {
			v, err := control.Call(ctx, c, control.VerifyCheckpoint, name)
			e, ok := errors.AsType[*control.Error](err)
			if ok && e.Code == control.CodeNoCheckpoint && len(rest) == 1 {
				if id, numErr := strconv.ParseInt(name, 10, 64); numErr == nil {
					return m.replayRun(ctx, c, id, *asJSON)
				}
			}
			if ok && e.Code == control.CodeNoCheckpoint && len(rest) == 0 {
				continue // deleted meanwhile
			}
			if err != nil {
				return err
			}
			if *asJSON {
				if err := m.PrintJSON(v); err != nil {
					return err
				}
			}
			if v.Error != "" {
				damaged++
				m.Say("%s", v.Error)
			}
		}
		if damaged > 0 {
			return fmt.Errorf("%d of %s cannot be used; `tandem checkpoints delete ID` deletes one",
				damaged, control.Plural(len(names), "checkpoint"))
		}
		if *asJSON {
			return nil
		}
		return m.Print("%s whole", control.Plural(len(names), "checkpoint"))
	})
	return cmd
}

// A continuation is the body of a branch.
type continuation struct {
	Prompt string `json:"prompt"`
	Raw    bool   `json:"raw,omitempty"`
	sampling
}

func branchCheckpoint(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "branch ID [PROMPT]", Short: "answer from one", Args: checkpointArgs(1, 2)}
	var b continuation
	cmd.Flags().BoolVar(&b.Raw, "raw", false, "continue the text as it is, with the prompt as it is")
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	sampling := m.samplingFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, rest []string) (err error) {
		ctx := cmd.Context()
		if len(rest) > 1 {
			b.Prompt = rest[1]
		}
		if b.Prompt == "" && !b.Raw {
			return terminal.Mistake(cmd, "say what comes next, or add --raw to continue the text as it is")
		}
		if b.sampling, err = sampling(); err != nil {
			return err
		}
		return m.withServer(ctx, func(c *control.Client) error {
			stop := m.watch(ctx, stateOf(c))
			defer stop()
			resp, err := c.BranchCheckpoint(ctx, rest[0], b)
			if err != nil {
				return err
			}
			_, err = m.print(resp.Body, terminal.AnswerForm{JSON: *asJSON}, stop)
			return err
		})
	}
	return cmd
}
