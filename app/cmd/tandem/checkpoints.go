package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/app/control"
	"tandem/app/terminal"
)

// aCheckpoint is what the verbs about one checkpoint cannot do without.
const aCheckpoint = "a checkpoint's id or name: `tandem checkpoints list` shows them"

// checkpointVerbs are the words that may follow "checkpoints".
func checkpointVerbs() []terminal.Verb {
	return []terminal.Verb{
		{Name: "list", Doc: "list them, the last used first"},
		{Name: "show", Args: "ID", Doc: "show one, and the end of its text",
			Needs: aCheckpoint},
		{Name: "name", Args: "ID NAME", Doc: "name one; an empty name takes the name away",
			Needs: "a checkpoint's id and its name: tandem checkpoints name ID NAME; an empty name takes it away"},
		{Name: "pin", Args: "ID", Doc: "keep one, however little it is used",
			Needs: aCheckpoint},
		{Name: "unpin", Args: "ID", Doc: "let one go again when space is needed",
			Needs: aCheckpoint},
		{Name: "branch", Args: "ID [PROMPT]", Doc: "answer from one",
			Needs: aCheckpoint},
		{Name: "delete", Args: "ID", Doc: "say what goes with one, ask, and delete it",
			Needs: aCheckpoint},
		{Name: "texts", Doc: "list what is remembered of each client's texts, to guess how similar ones go on"},
		{Name: "verify", Args: "[ID|RUN]", Doc: "read files whole, all if none is named; a run is computed again"},
	}
}

func (m *Main) checkpoints(ctx context.Context, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return listCheckpoints(ctx, m, "checkpoints", args)
	}
	sub := args[0]
	args = args[1:]
	switch sub {
	case "list":
		return listCheckpoints(ctx, m, "checkpoints list", args)
	case "show":
		return showCheckpoint(ctx, m, args)
	case "name":
		return changeCheckpoint(ctx, m, sub, args, 2, func(rest []string) control.CheckpointChange {
			return control.CheckpointChange{Name: &rest[1]}
		})
	case "pin", "unpin":
		return changeCheckpoint(ctx, m, sub, args, 1, func([]string) control.CheckpointChange {
			return control.CheckpointChange{Pinned: new(sub == "pin")}
		})
	case "branch":
		return branch(ctx, m, args)
	case "delete":
		return deleteCheckpoint(ctx, m, args)
	case "texts":
		return listTexts(ctx, m, args)
	case "verify":
		return verifyCheckpoints(ctx, m, args)
	}
	fmt.Fprintf(m.Stderr, "tandem checkpoints: there is no verb %q; use list, show, name, pin, unpin, branch, delete, texts or verify\n",
		sub)
	return terminal.ErrUsage
}

// listCheckpoints lists checkpoints, the last used first. name is the verb's path.
func listCheckpoints(ctx context.Context, m *Main, name string, args []string) error {
	f := m.Flags(name)
	asJSON := f.Bool("json", false, "one JSON object a line")
	model := f.String("model", "", "only checkpoints of the model `ID`")
	limit := f.Uint("limit", 0, "only the `N` that were used last (default: all)")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		var rows [][]string
		listed := uint(0)
		for x, err := range c.EachCheckpoint(ctx, *model) {
			if err != nil {
				return err
			}
			if listed++; *limit > 0 && listed > *limit {
				break
			}
			if *asJSON {
				if err := terminal.WriteJSON(m.Stdout, x); err != nil {
					return err
				}
				continue
			}
			pin, kept := "-", "all"
			if x.Pinned {
				pin = "pinned"
			}
			if x.TextOnly {
				kept = "text"
			}
			rows = append(rows, []string{x.ID, cmp.Or(x.Name, "-"), pin, kept, x.Model,
				x.Kind, fmt.Sprint(x.ToToken),
				fmt.Sprint(x.ToToken - x.FromToken), control.ByteSize(x.Bytes), fmt.Sprint(x.Hits),
				clock(x.UsedAt), run64(x.Run)})
		}
		if *asJSON {
			return nil
		}
		return terminal.Table(m.Stdout, []string{"ID", "NAME", "PIN", "KEPT", "MODEL", "KIND", "TOKENS", "OWN",
			"SIZE", "HITS", "USED", "RUN"}, rows)
	})
}

// listTexts lists what the memory of texts holds of each client, never a text, or forgets it.
func listTexts(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("checkpoints texts")
	asJSON := f.Bool("json", false, "one JSON object a line")
	of := f.String("forget", "", "forget the texts of the client with the `KEY`, which the list has; - is all without a key")
	yes := f.Bool("yes", false, "do not ask")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		stored, err := control.Ask(ctx, c, control.GetStorage)
		if err != nil {
			return err
		}
		if *of != "" {
			return m.forgetTexts(ctx, f, c, stored.Texts, *of, *yes)
		}
		var rows [][]string
		for _, x := range stored.Texts {
			if *asJSON {
				if err := terminal.WriteJSON(m.Stdout, x); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{cmp.Or(x.Key, "-"), fmt.Sprint(x.Texts), fmt.Sprint(x.Tokens),
				control.ByteSize(x.Bytes), clock(x.UsedAt)})
		}
		if *asJSON {
			return nil
		}
		return terminal.Table(m.Stdout, []string{"KEY", "TEXTS", "TOKENS", "SIZE", "USED"}, rows)
	})
}

// forgetTexts forgets the texts of the client that goes by a name in the list of texts.
func (m *Main) forgetTexts(ctx context.Context, f *flag.FlagSet, c *control.Client,
	list []control.RememberedTexts, of string, yes bool) error {
	i := slices.IndexFunc(list, func(x control.RememberedTexts) bool { return cmp.Or(x.Key, "-") == of })
	if i < 0 {
		return fmt.Errorf("no texts of %q are remembered; `tandem checkpoints texts` lists the keys", of)
	}
	would := control.Forgotten{Tokens: list[i].Tokens, Bytes: list[i].Bytes}
	if err := m.Confirm(ctx, f, yes, "forget "+would.Amount()); err != nil {
		return err
	}
	gone, err := control.Call(ctx, c, control.ForgetTexts, list[i].KeyID)
	if err == nil {
		fmt.Fprintf(m.Stderr, "tandem: forgot %s\n", gone.Amount())
	}
	return err
}

// parseNamed is Parse for verbs whose first argument is a checkpoint's id or name. An empty one is
// a mistake.
func (m *Main) parseNamed(f *flag.FlagSet, args []string, min, max int) ([]string, error) {
	rest, err := m.Parse(f, args, min, max)
	if err == nil && len(rest) > 0 && rest[0] == "" {
		err = m.Missing(f)
	}
	return rest, err
}

// run64 formats a run's id, - for none.
func run64(id int64) string {
	if id == 0 {
		return "-"
	}
	return fmt.Sprint(id)
}

func showCheckpoint(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("checkpoints show")
	asJSON := f.Bool("json", false, "one JSON object")
	rest, err := m.parseNamed(f, args, 1, 1)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		x, err := control.Call(ctx, c, control.GetCheckpoint,
			control.CheckpointRead{Checkpoint: rest[0]})
		if err != nil {
			return err
		}
		if *asJSON {
			return terminal.WriteJSON(m.Stdout, x)
		}
		pinned := "no; it may go when space is needed"
		if x.Pinned {
			pinned = "yes"
		}
		rows := [][]string{
			{"name", cmp.Or(x.Name, "-")},
			{"model", x.Model},
			{"kind", x.Kind},
			{"tokens", fmt.Sprintf("%d to %d", x.FromToken, x.ToToken)},
			{"goes on from", cmp.Or(x.Parent, "the beginning")},
			{"size", control.ByteSize(x.Bytes)},
			{"run", run64(x.Run)},
			{"made", clock(x.CreatedAt)},
			{"used", fmt.Sprintf("%s, %s", clock(x.UsedAt), control.Plural(x.Hits, "time"))},
			{"pinned", pinned},
		}
		if x.TextOnly {
			rows = append(rows, []string{"kept",
				"only the text: this version computes differently and reads it again when it is used"})
		}
		if err := terminal.Table(m.Stdout, []string{"checkpoint", x.ID}, rows); err != nil {
			return err
		}
		if x.Text == "" {
			fmt.Fprintf(m.Stdout, "\nIts text cannot be shown: its model has been removed.\n")
			return nil
		}
		fmt.Fprintf(m.Stdout, "\n... %s\n", x.Text)
		return nil
	})
}

func changeCheckpoint(ctx context.Context, m *Main, sub string, args []string, n int,
	change func(rest []string) control.CheckpointChange) error {
	rest, err := m.parseNamed(m.Flags("checkpoints "+sub), args, n, n)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		_, err := control.Call(ctx, c, control.ChangeCheckpoint,
			control.CheckpointUpdate{Checkpoint: rest[0], CheckpointChange: change(rest)})
		return err
	})
}

// verifyCheckpoints reads files whole, all if none is named. A number that names no checkpoint is a
// run, which is computed again.
func verifyCheckpoints(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("checkpoints verify")
	asJSON := f.Bool("json", false, "one JSON object a line")
	rest, err := m.parseNamed(f, args, 0, 1)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
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
				if err := terminal.WriteJSON(m.Stdout, v); err != nil {
					return err
				}
			}
			if v.Error != "" {
				damaged++
				fmt.Fprintf(m.Stderr, "tandem: %s\n", v.Error)
			}
		}
		if damaged > 0 {
			return fmt.Errorf("%d of %s cannot be used; `tandem checkpoints delete ID` deletes one",
				damaged, control.Plural(len(names), "checkpoint"))
		}
		if !*asJSON {
			fmt.Fprintf(m.Stdout, "%s whole\n", control.Plural(len(names), "checkpoint"))
		}
		return nil
	})
}

// A continuation is the body of a branch.
type continuation struct {
	Prompt        string         `json:"prompt"`
	Raw           bool           `json:"raw,omitempty"`
	MaxTokens     *int           `json:"max_tokens,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	Seed          *int64         `json:"seed,omitempty"`
	Stream        bool           `json:"stream"`
	StreamOptions map[string]any `json:"stream_options"`
	TokenIDs      bool           `json:"return_token_ids"`
}

func branch(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("checkpoints branch")
	raw := f.Bool("raw", false, "go on from the text as it is, with the prompt as it is")
	asJSON := f.Bool("json", false, "one JSON object a line")
	maxTokens := f.Int("max-tokens", 0,
		"generate at most `N` tokens (default: what the context leaves)")
	temperature := f.Float64("temperature", 0, "sampling temperature `X` (default: the model's)")
	seed := f.Int64("seed", 0, "seed `N` of the sampler (default: a random one)")
	rest, err := m.parseNamed(f, args, 1, 2)
	if err != nil {
		return err
	}
	b := continuation{Raw: *raw, Stream: true, StreamOptions: map[string]any{"include_usage": true},
		TokenIDs: true}
	if len(rest) > 1 {
		b.Prompt = rest[1]
	}
	if b.Prompt == "" && !*raw {
		return terminal.Mistake(f, "say what comes next, or add --raw to go on from the text as it is")
	}
	f.Visit(func(set *flag.Flag) {
		switch set.Name {
		case "max-tokens":
			b.MaxTokens = maxTokens
		case "temperature":
			b.Temperature = temperature
		case "seed":
			b.Seed = seed
		}
	})
	return m.withServer(ctx, func(c *control.Client) error {
		stop := m.watch(ctx, stateOf(c))
		defer stop()
		resp, err := c.BranchCheckpoint(ctx, rest[0], b)
		if err != nil {
			return err
		}
		return m.print(resp.Body, *asJSON, stop)
	})
}
