package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/terminal"
)

// maxPrompt bounds a prompt from standard input. The endpoint refuses larger bodies.
const maxPrompt = 32 << 20 // bytes

// inputPatience is how long a pipe may stay silent before a person is told that it is waited for.
const inputPatience = 3 * time.Second

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

// maxSense is the highest temperature without a warning. OpenAI's API takes no higher one.
const maxSense = 2

// samplingFlags adds the flags of an answer to a verb. What they leave out is the server's.
func (m *Main) samplingFlags(cmd *cobra.Command) func() (sampling, error) {
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
		case *temperature > maxSense:
			m.Say("at a temperature above %d an answer is mostly noise; 0 to 1 is usual", maxSense)
		}
		return s, nil
	}
}

// runFlags are the flags of run.
type runFlags struct {
	cmd         *cobra.Command
	model       string
	raw, json   bool // of run alone
	depth       int  // tokens
	speculation control.Asked
	sampling    func() (sampling, error)
	kvBits      kvBitsFlag
}

func newRunFlags(m *Main, cmd *cobra.Command) *runFlags {
	f := cmd.Flags()
	r := &runFlags{cmd: cmd, sampling: m.samplingFlags(cmd)}
	choice := func(to *string, name, usage string, words []string) {
		terminal.Choice(cmd, to, name, fmt.Sprintf(usage, strings.Join(words, ", ")), words...)
	}
	s := &r.speculation
	choice(&s.Drafter, "speculation", "`DRAFTER`: %s (default: the server's, auto)", control.Drafters)
	choice(&s.Rollback, "rollback", "`HOW` wrong drafts are undone: %s", control.Rollbacks)
	choice(&s.Rule, "rule", "`RULE` by which drafts are accepted: %s", control.Rules)
	f.IntVar(&r.depth, "depth", 0, "`N` tokens to draft per step (default: automatic)")
	f.BoolVar(&s.Exact, "exact", false, "make results bit-identical, with or without drafts (slower)")
	r.kvBits.add(cmd)
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
		return g, terminal.Mistake(r.cmd, fmt.Sprintf("--depth must be between 0 and %d", control.MaxDepth))
	}
	if r.speculation != (control.Asked{}) {
		g.Speculation = &r.speculation
	}
	return g, nil
}

func run(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "run [MODEL] [PROMPT]", Short: "ask a model, or chat; use - to read the prompt from stdin",
		Long: "Asks a model, the current one if none is named. A pipe follows the prompt,\n" +
			"after an empty line, or is the prompt. Without either it is a chat on a\n" +
			"terminal. A single word is the prompt, unless it is exactly the id of a model.",
		Args:              terminal.Args(0, math.MaxInt, ""),
		ValidArgsFunction: m.completeModel,
		Example: "  tandem run 'Write a Go function that reverses a slice'\n  git diff | tandem run 'Review this change'\n" +
			"  tandem run mlx-community/Qwen3.5-4B-MLX-4bit"}
	r := newRunFlags(m, cmd)
	f := cmd.Flags()
	f.StringVar(&r.model, "model", control.Alias, "`DIR|FILE.gguf|ID` of the model")
	f.BoolVar(&r.raw, "raw", false, "take the prompt as it is, without the chat template")
	f.BoolVar(&r.json, "json", false, "one JSON object a line")
	cmd.RegisterFlagCompletionFunc("model", m.completeModelOrFile)
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		ctx := cmd.Context()
		if r.model == "" {
			return terminal.Mistake(r.cmd, app.NoModel)
		}
		g, err := r.generation()
		if err != nil {
			return err
		}
		// A prompt that is known without a server is read before one is started.
		w, prompt := runWords{r.model, words}, ""
		known := f.Changed("model") || len(words) == 0 || words[0] == "-"
		if known {
			prompt, err = m.prompt(r, w)
		} else {
			err = checkPrompt(words[len(words)-1])
		}
		if err != nil {
			return err
		}
		return m.withServerOf(ctx, r.kvBits, func(c *control.Client) error {
			if !known {
				if w, err = m.readWords(ctx, cmd, c, words); err != nil {
					return err
				}
				if prompt, err = m.prompt(r, w); err != nil {
					return err
				}
			}
			return m.withModel(ctx, c, r.kvBits, w.model, func(id string) error {
				if g.Model = id; prompt == "" {
					return m.chat(ctx, cmd, c, g)
				}
				g.Messages = []message{{"user", prompt}}
				return m.generate(ctx, c, g, r.raw, r.json)
			})
		})
	}
	return cmd
}

// prompt returns the prompt of the command line, followed by the text that is piped in. With - or without a prompt
// there, the pipe is the whole prompt. It is empty for a chat.
func (m *Main) prompt(r *runFlags, w runWords) (text string, err error) {
	missing := terminal.Missing(r.cmd, "a prompt, or - to read it from standard input")
	switch none := len(w.prompt) == 0; {
	case none && m.chats() && !r.raw && !r.json:
		return "", nil
	case none && m.Typed:
		return "", missing
	case none:
		if text, err = m.readPrompt(r.cmd.Context()); text == "" && err == nil {
			err = missing
		}
	case len(w.prompt) > 1:
		return "", tooManyWords(r.cmd, w.prompt)
	case w.prompt[0] == "-":
		text, err = m.readPrompt(r.cmd.Context())
	default:
		if text = w.prompt[0]; text != "" && !m.Typed && hasText(m.Stdin) {
			var piped string
			if piped, err = m.readPrompt(r.cmd.Context()); strings.TrimSpace(piped) != "" {
				text += "\n\n" + piped
			}
		}
	}
	return text, cmp.Or(err, checkPrompt(text))
}

// hasText reports whether standard input is a named pipe, a pipe or a file that is not empty. It ignores a socket:
// Node gives one to each program that it starts, and may leave it open without writing.
func hasText(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && (info.Mode()&fs.ModeNamedPipe != 0 || info.Mode().IsRegular() && info.Size() > 0)
}

func tooManyWords(cmd *cobra.Command, prompt []string) error {
	return terminal.Mistake(cmd, "the prompt is one argument; put it in quotes: "+quoted(prompt))
}

// checkPrompt says why a text is no prompt.
func checkPrompt(text string) error {
	switch {
	case text == "":
		return errors.New("the prompt is empty; there is nothing to answer")
	case !utf8.ValidString(text):
		return errors.New("the prompt is not valid UTF-8; convert it first, for example with iconv")
	}
	return nil
}

// readPrompt reads standard input to its end, or until ctx ends.
func (m *Main) readPrompt(ctx context.Context) (string, error) {
	if m.Typed {
		m.Say("reading the prompt; end it with Ctrl-D")
	} else { // a program may have left its pipe open for nothing
		slow := time.AfterFunc(inputPatience, func() {
			m.Say("waiting for the end of standard input, which is part of the prompt; </dev/null leaves it out")
		})
		defer slow.Stop()
	}
	text, err := m.ReadInput(ctx, maxPrompt+1)
	switch {
	case err != nil && ctx.Err() == nil:
		return "", fmt.Errorf("read the prompt: %w", err)
	case len(text) > maxPrompt:
		return "", fmt.Errorf("the prompt on standard input is larger than %d MiB", maxPrompt>>20)
	}
	return text, err
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
