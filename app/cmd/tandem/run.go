package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/library"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// noModel refuses an empty --model.
const noModel = "--model is empty; give it a model's folder, GGUF file or id, or leave it out for the chosen model"

// maxPrompt bounds a prompt from standard input. The endpoint refuses larger bodies.
const maxPrompt = 32 << 20 // bytes

// A generation is the body of a completion request.
type generation struct {
	Model       string         `json:"model"`
	Prompt      string         `json:"prompt,omitempty"`
	Messages    []message      `json:"messages,omitempty"`
	Speculation *control.Asked `json:"speculation,omitempty"`
	sampling
}

// sampling is what every request for an answer has.
type sampling struct {
	MaxTokens      *int           `json:"max_tokens,omitempty"`
	Temperature    *float64       `json:"temperature,omitempty"`
	Seed           *int64         `json:"seed,omitempty"`
	Stream         bool           `json:"stream"`
	StreamOptions  map[string]any `json:"stream_options"`
	ReturnTokenIDs bool           `json:"return_token_ids"`
}

// samplingFlags adds the flags of an answer to a verb. What they leave out is the server's.
func samplingFlags(cmd *cobra.Command) func() (sampling, error) {
	f := cmd.Flags()
	maxTokens := f.Int("max-tokens", 0, "generate at most `N` tokens (default: what the context leaves)")
	temperature := f.Float64("temperature", 0, "sampling temperature `X` (default: the model's)")
	seed := f.Int64("seed", 0, "seed `N` of the sampler (default: a random one)")
	return func() (sampling, error) {
		s := sampling{Stream: true, StreamOptions: map[string]any{"include_usage": true}, ReturnTokenIDs: true}
		if f.Changed("max-tokens") {
			s.MaxTokens = maxTokens
		}
		if f.Changed("temperature") {
			s.Temperature = temperature
		}
		if f.Changed("seed") {
			s.Seed = seed
		}
		switch {
		case *maxTokens < 0:
			return s, terminal.Mistake(cmd, "--max-tokens must be at least 0")
		case !(*temperature >= 0 && *temperature <= math.MaxFloat64):
			return s, terminal.Mistake(cmd, "--temperature must be at least 0")
		}
		return s, nil
	}
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A chunk is one event of either completion route.
type chunk struct {
	Choices []struct {
		Text  string
		Delta struct {
			Content string
		}
		TokenIDs     []int32 `json:"token_ids"`
		FinishReason string  `json:"finish_reason"`
	}
	Usage   json.RawMessage
	Timings json.RawMessage
}

// runFlags are the flags of run.
type runFlags struct {
	cmd         *cobra.Command
	model       string
	raw, json   bool
	depth       int // tokens
	speculation control.Asked
	sampling    func() (sampling, error)
	kvBits      kvBitsFlag
}

func newRunFlags(cmd *cobra.Command) *runFlags {
	f := cmd.Flags()
	r := &runFlags{cmd: cmd, sampling: samplingFlags(cmd)}
	f.StringVar(&r.model, "model", control.Alias, "`DIR|FILE.gguf|ID` of the model")
	f.BoolVar(&r.raw, "raw", false, "take the prompt as it is, without the chat template")
	f.BoolVar(&r.json, "json", false, "one JSON object a line")
	choice := func(to *string, name, usage string, words []string) {
		terminal.Choice(cmd, to, name, fmt.Sprintf(usage, strings.Join(words, ", ")), words...)
	}
	s := &r.speculation
	choice(&s.Drafter, "speculation", "`DRAFTER`: %s (default: the server's, auto)", control.Drafters)
	choice(&s.Rollback, "rollback", "`HOW` wrong drafts are undone: %s", control.Rollbacks)
	choice(&s.Rule, "rule", "`RULE` by which drafts stand: %s", control.Rules)
	f.IntVar(&r.depth, "depth", 0, "`N` tokens to draft per step (default: automatic)")
	f.BoolVar(&s.Exact, "exact", false, "make results bit-identical, with or without drafts (slower)")
	r.kvBits.add(f)
	return r
}

// generation returns a request for what the flags say.
func (r *runFlags) generation() (g generation, err error) {
	if g.sampling, err = r.sampling(); err != nil {
		return g, err
	}
	if r.cmd.Flags().Changed("depth") {
		r.speculation.Depth = &r.depth
	}
	if r.depth < 0 || r.depth > control.MaxDepth {
		return g, terminal.Mistake(r.cmd, fmt.Sprintf("--depth must lie between 0 and %d", control.MaxDepth))
	}
	if r.speculation != (control.Asked{}) {
		g.Speculation = &r.speculation
	}
	return g, nil
}

func run(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "run PROMPT", Short: "ask the model; use - to read the prompt from stdin",
		Args:    terminal.Args(1, math.MaxInt, "a prompt, or - to read it from standard input"),
		Example: "  tandem run 'Write a Go function that reverses a slice'\n  git diff | tandem run -"}
	r := newRunFlags(cmd)
	cmd.RegisterFlagCompletionFunc("model", m.completeModelOrFile)
	cmd.RunE = func(cmd *cobra.Command, rest []string) error {
		ctx := cmd.Context()
		if r.model == "" {
			return terminal.Mistake(r.cmd, noModel)
		}
		if len(rest) > 1 {
			return terminal.Mistake(r.cmd, "the prompt is one argument; put it in quotes: "+quoted(rest))
		}
		prompt, err := m.promptOf(ctx, rest[0])
		if err != nil {
			return err
		}
		g, err := r.generation()
		if err != nil {
			return err
		}
		return m.withServerOf(ctx, r.kvBits, r.model, func(c *control.Client) error {
			return withModel(ctx, c, r.model, func(id string) error {
				g.Model = id
				return m.generate(ctx, c, g, prompt, r.raw, r.json)
			})
		})
	}
	return cmd
}

// promptOf returns the prompt that an argument stands for, - for standard input.
func (m *Main) promptOf(ctx context.Context, arg string) (prompt string, err error) {
	if prompt = arg; arg == "-" {
		if prompt, err = m.readPrompt(ctx); err != nil {
			return "", err
		}
	}
	switch {
	case prompt == "":
		return "", errors.New("the prompt is empty; there is nothing to answer")
	case !utf8.ValidString(prompt):
		return "", errors.New("the prompt is not valid UTF-8; convert it first, for example with iconv")
	}
	return prompt, nil
}

// readPrompt reads standard input to its end, or until ctx ends.
func (m *Main) readPrompt(ctx context.Context) (string, error) {
	if m.Typed {
		fmt.Fprintln(m.Stderr, "tandem: reading the prompt; end it with Ctrl-D")
	}
	type text struct {
		b   []byte
		err error
	}
	read := make(chan text, 1)
	go func() { // it outlives an interrupted read
		b, err := io.ReadAll(io.LimitReader(m.Stdin, maxPrompt+1))
		read <- text{b, err}
	}()
	select {
	case t := <-read:
		if t.err != nil {
			return "", fmt.Errorf("read the prompt: %w", t.err)
		}
		if len(t.b) > maxPrompt {
			return "", fmt.Errorf("the prompt on standard input is larger than %d MiB",
				maxPrompt>>20)
		}
		return string(t.b), nil
	case <-ctx.Done():
		if m.Typed {
			fmt.Fprintln(m.Stderr) // below the ^C that the terminal shows
		}
		return "", ctx.Err()
	}
}

// quoted returns the words in quotes, as a shell takes them for one argument. It returns '...'
// where they are long or need more than quotes.
func quoted(words []string) string {
	const longest = 60 // bytes worth repeating
	text := strings.Join(words, " ")
	if len(text) > longest || strings.ContainsFunc(text,
		func(r rune) bool { return r == '\'' || !unicode.IsPrint(r) }) {
		text = "..."
	}
	return "'" + text + "'"
}

// withModel calls fn with the id of the model that is named. A folder is registered first, and not kept if
// it proves to be no model.
func withModel(ctx context.Context, c *control.Client, name string, fn func(id string) error) error {
	id, added, err := register(ctx, c, name)
	if err != nil {
		return err
	}
	err = fn(id)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeModelInvalid && added {
		_, undo := control.Call(ctx, c, control.RemoveModel, id)
		return errors.Join(err, undo)
	}
	return orFolder(err, name)
}

// register returns the id of the model that is named. A folder is registered first; added says
// whether that made a new row. An id, or the alias, is never a folder.
func register(ctx context.Context, c *control.Client,
	name string) (id string, added bool, err error) {
	if !library.IsFolder(name) {
		return name, false, nil
	}
	list, err := control.Ask(ctx, c, control.ListModels)
	if err != nil || slices.ContainsFunc(list.Models,
		func(m control.Model) bool { return m.ID == name }) {
		return name, false, err
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", false, err
	}
	model, err := control.Call(ctx, c, control.AddModel, control.AddRequest{Path: dir})
	return model.ID, !slices.ContainsFunc(list.Models,
		func(m control.Model) bool { return m.Path == model.Path }), err
}

// idOf returns the id of the registered model that a person names: by its id, the alias, its folder or
// GGUF file, or a name that Ollama has for it. So run and serve take names too. A name that no model has
// is returned as it is. Error: a folder with several models.
func idOf(ctx context.Context, c *control.Client, name string) (string, error) {
	list, err := control.Ask(ctx, c, control.ListModels)
	if err != nil {
		return "", err
	}
	has := func(id string) bool {
		return slices.ContainsFunc(list.Models, func(m control.Model) bool { return m.ID == id })
	}
	bare := strings.TrimSuffix(name, ":latest")
	switch {
	case name == control.Alias || has(name):
		return name, nil
	case has(bare):
		return bare, nil
	case library.IsFolder(name):
		return idAt(list.Models, name)
	case !slices.ContainsFunc(list.Models, func(m control.Model) bool { return m.Source == "ollama" }):
		return name, nil
	}
	found, err := control.Ask(ctx, c, control.FindModels)
	if err != nil {
		return "", err
	}
	for _, m := range found.Models {
		if m.Registered && slices.Contains(m.Names, name) {
			return m.ID, nil
		}
	}
	return name, nil
}

// idAt returns the id of the registered model at a path. A folder stands for the GGUF file in it.
func idAt(list []control.Model, name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, m := range list {
		if m.Path == path || filepath.Dir(m.Path) == path && library.TrimGGUF(m.Path) != m.Path {
			ids = append(ids, m.ID)
		}
	}
	switch len(ids) {
	case 0:
		return name, nil
	case 1:
		return ids[0], nil
	}
	slices.Sort(ids)
	return "", fmt.Errorf("%d registered models lie at %s, so name one by its id: %s", len(ids),
		terminal.Printable(name), strings.Join(ids, ", "))
}

// orFolder adds to an error about an unknown id what to write for the folder of that name, or that
// there is no such folder.
func orFolder(err error, name string) error {
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelNotFound {
		return err
	}
	info, statErr := disk.Stat(name)
	switch {
	case statErr != nil:
		return fmt.Errorf("%w No folder here has that name either", err)
	case !info.IsDir():
		return fmt.Errorf("%w %s is a file, and a model is a folder or a file of .gguf", err, name)
	}
	return fmt.Errorf("%w There is a folder of that name, though: for that one write ./%s",
		err, name)
}

// generate streams an answer to standard output. A model without a chat template continues the
// prompt instead.
func (m *Main) generate(ctx context.Context, c *control.Client, g generation, prompt string,
	raw, asJSON bool) error {
	route := "/v1/chat/completions"
	g.Messages = []message{{"user", prompt}}
	if raw {
		route, g.Messages, g.Prompt = "/v1/completions", nil, prompt
	}
	stop := m.watch(ctx, stateOf(c))
	defer stop()
	resp, err := c.Do(ctx, "POST", route, g)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNoTemplate {
		return m.generate(ctx, c, g, prompt, true, asJSON)
	}
	if err != nil {
		return err
	}
	return m.print(resp.Body, asJSON, stop)
}

// print writes a generating route's stream to standard output, and closes body. It calls began for
// every part that arrives.
func (m *Main) print(body io.ReadCloser, asJSON bool, began func()) error {
	defer body.Close()
	out := bufio.NewWriter(m.Stdout)
	defer out.Flush()
	open := false // the last line of text has no newline yet
	defer func() {
		if open {
			out.WriteByte('\n') // a message may follow on the terminal
		}
	}()
	finish := ""
	var usage, timings json.RawMessage
	for data, err := range control.Events(body) {
		if err != nil {
			return err
		}
		var ch chunk
		if err := json.Unmarshal(data, &ch); err != nil {
			return fmt.Errorf("the stream is damaged: %w", err)
		}
		if ch.Usage != nil && string(ch.Usage) != "null" {
			usage = ch.Usage
		}
		if ch.Timings != nil {
			timings = ch.Timings
		}
		for _, choice := range ch.Choices {
			began()
			text := choice.Text + choice.Delta.Content
			if choice.FinishReason != "" {
				finish = choice.FinishReason
			}
			if !asJSON {
				out.WriteString(text)
				open = open && text == "" || text != "" && !strings.HasSuffix(text, "\n")
			} else if text != "" || len(choice.TokenIDs) > 0 {
				if err := terminal.WriteJSON(out, struct {
					Text     string  `json:"text"`
					TokenIDs []int32 `json:"token_ids"`
				}{text, choice.TokenIDs}); err != nil {
					return err
				}
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if !asJSON {
		open = false
		out.WriteByte('\n')
		return out.Flush()
	}
	return terminal.WriteJSON(out, struct {
		FinishReason string          `json:"finish_reason"`
		Usage        json.RawMessage `json:"usage"`
		Timings      json.RawMessage `json:"timings"`
	}{finish, usage, timings})
}
