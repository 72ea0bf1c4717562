package server

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/engine"
)

// A fakeModel answers every prompt with its output, a byte a token. Ids from
// 256 on are special.
type fakeModel struct {
	id, key  string
	kind     string
	context  int
	output   string
	finish   engine.Finish
	template func(vars []byte) (string, error)
	fim      bool
	defaults Defaults
	writes   string   // the template's source, which tells the dialect
	more     []string // special tokens behind fakeSpecials
	longer   int      // context that its settings allow
	behind   string   // the output behind what was generated before and does not begin it

	// reads is called for what reads texts, if set.
	reads func(context.Context) error

	// generate replaces the script, if set.
	generate func(context.Context, engine.Request) iter.Seq2[engine.Token, error]

	mu       sync.Mutex
	encoded  int // texts
	requests []engine.Request
	texts    [][]int32 // that were read
	vars     []string
	grammars []Grammar
	matchers int // that are open
}

var fakeSpecials = []string{"<bos>", "<pre>", "<suf>", "<mid>", "<eos>"}

// fakeTemplate prints what it is given.
func fakeTemplate(vars []byte) (string, error) {
	var v struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(vars, &v); err != nil {
		return "", &engine.Error{Code: engine.CodeInternal, Message: "the server wrote bad variables: " + string(vars)}
	}
	var b strings.Builder
	for _, m := range v.Messages {
		if m.Content == "forbidden" {
			return "", control.Errorf(control.CodeInvalid, "The model's chat template refuses these messages: no such talk")
		}
		fmt.Fprintf(&b, "%c%s\n", m.Role[0], m.Content)
	}
	return b.String(), nil
}

func (m *fakeModel) ID() string               { return m.id }
func (m *fakeModel) Key() string              { return m.key }
func (m *fakeModel) ContextLength() int       { return m.context }
func (m *fakeModel) LongerContext(n int) bool { return n <= m.longer }
func (m *fakeModel) VocabSize() int           { return 256 + len(m.specials()) }
func (m *fakeModel) Defaults() Defaults       { return m.defaults }

func (m *fakeModel) Dialect() *dialect.Dialect {
	return dialect.Detect(m.writes, func(text string) (int32, bool, bool) {
		i := slices.Index(m.specials(), text)
		return int32(256 + i), true, i >= 0
	})
}

func (m *fakeModel) specials() []string { return slices.Concat(fakeSpecials, m.more) }

func (m *fakeModel) Special() (ids []int32) {
	for _, text := range m.Dialect().Special() {
		ids = append(ids, int32(256+slices.Index(m.specials(), text)))
	}
	return ids
}

// fakeSlow is a text that the fake's tokenizer gives up on.
const fakeSlow = "slow!"

func (m *fakeModel) Encode(text string, addSpecial bool) ([]int32, error) {
	if strings.Contains(text, fakeSlow) {
		return nil, control.Errorf(control.CodeInvalid, "the tokenizer takes too long")
	}
	m.mu.Lock()
	m.encoded++
	m.mu.Unlock()
	var ids []int32
	if addSpecial {
		ids = append(ids, 256)
	}
next:
	for text != "" {
		for i, s := range m.specials() {
			if rest, ok := strings.CutPrefix(text, s); ok {
				ids, text = append(ids, int32(256+i)), rest
				continue next
			}
		}
		ids, text = append(ids, int32(text[0])), text[1:]
	}
	return ids, nil
}

func (m *fakeModel) EncodePlain(text string) ([]int32, error) {
	if strings.Contains(text, fakeSlow) {
		return nil, control.Errorf(control.CodeInvalid, "the tokenizer takes too long")
	}
	ids := make([]int32, len(text))
	for i := range ids {
		ids[i] = int32(text[i])
	}
	return ids, nil
}

func (m *fakeModel) Decode(ids []int32) string {
	var b []byte
	for _, id := range ids {
		b = append(b, m.TokenBytes(id)...)
	}
	return string(b)
}

func (m *fakeModel) TokenBytes(id int32) []byte {
	if id >= 256 {
		return []byte(m.specials()[id-256])
	}
	return []byte{byte(id)}
}

func (m *fakeModel) LongestToken() int { return len("<bos>") }

func (m *fakeModel) FIM() (FIM, bool) { return FIM{"<pre>", "<suf>", "<mid>"}, m.fim }

func (m *fakeModel) RenderChat(vars []byte) (string, error) {
	m.mu.Lock()
	m.vars = append(m.vars, string(vars))
	m.mu.Unlock()
	if m.template == nil {
		return "", ErrNoTemplate
	}
	return m.template(vars)
}

// Matcher refuses what has the word impossible, and holds nothing to the rest.
func (m *fakeModel) Matcher(_ context.Context, g Grammar) (Matcher, error) {
	if strings.Contains(string(g.JSON)+g.Lark+g.Regex, "impossible") {
		return nil, control.Errorf(control.CodeInvalid, "the fake refuses this")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grammars = append(m.grammars, g)
	m.matchers++
	return &fakeMatcher{model: m}, nil
}

// A fakeMatcher counts itself while it is open.
type fakeMatcher struct {
	engine.Matcher
	model *fakeModel
}

func (m *fakeMatcher) Close() error {
	m.model.mu.Lock()
	defer m.model.mu.Unlock()
	m.model.matchers--
	return nil
}

// Generate keeps the engine's promises: whole runes in Text, Finish on the
// last token, Done before the end.
func (m *fakeModel) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	m.mu.Unlock()
	if m.generate != nil {
		return m.generate(ctx, r)
	}
	return func(yield func(engine.Token, error) bool) {
		st := engine.Stats{PromptTokens: len(r.Prompt), Matched: len(r.Prompt)/2 + 1, CachedTokens: len(r.Prompt) / 2, Restore: time.Millisecond, Miss: "no checkpoint there", Seed: 7, Prefill: 2 * time.Millisecond, FirstToken: 3 * time.Millisecond}
		if r.Seed != nil {
			st.Seed = *r.Seed
		}
		if d := r.Speculation.Drafter; d == "mtp" {
			st.Err = &engine.Error{Code: engine.CodeInvalid, Message: `speculation.drafter "mtp" is not there for this model; it has auto, none, ngram`}
			r.Done(st)
			yield(engine.Token{}, st.Err)
			return
		}
		defer func() {
			if r.Done != nil {
				r.Done(st)
			}
		}()
		if r.PromptLogprobs {
			for i, id := range r.Prompt {
				t := engine.Token{ID: id, Prompt: true}
				if i > 0 {
					t.Logprobs = fakeLogprobs(id, r.TopLogprobs)
				}
				if !yield(t, nil) {
					return
				}
			}
		}
		if r.Progress != nil {
			r.Progress(len(r.Prompt), len(r.Prompt))
		}
		out, finish, ended := m.output, m.finish, ""
		if had := m.Decode(r.Generated); m.behind != "" && !strings.HasPrefix(out, had) {
			out = had + m.behind
		}
		if r.Stopper != nil {
			out, ended = heard(out, r.Stopper())
		} else {
			for _, stop := range r.Stop {
				if before, _, ok := strings.Cut(out, stop); ok {
					out, ended = before, stop
				}
			}
		}
		if ended != "" {
			finish = engine.FinishStop
		}
		if n := m.context - len(r.Prompt); len(out) > n {
			out, finish, ended = out[:n], engine.FinishLength, ""
		}
		if r.MaxTokens != nil && len(out) > *r.MaxTokens {
			out, finish, ended = out[:*r.MaxTokens], engine.FinishLength, ""
		}
		toks := m.rounds(r, out, &st)
		st.Syncs = st.Rounds
		held := ""
		for i := range len(out) {
			if ctx.Err() != nil {
				yield(engine.Token{}, ctx.Err())
				return
			}
			t := toks[i]
			if held += out[i : i+1]; utf8.ValidString(held) {
				t.Text, held = held, ""
			}
			if r.Logprobs {
				t.Logprobs = fakeLogprobs(t.ID, r.TopLogprobs)
			}
			st.CompletionTokens++
			st.Decode += time.Millisecond
			if i == len(out)-1 {
				t.Finish, t.Stop, st.Finish = finish, ended, finish
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// heard returns a text up to where stop ends it, rune by rune, and what it says.
func heard(text string, stop func(string) string) (out, ended string) {
	for i, r := range text {
		if ended = stop(string(r)); ended != "" {
			return text[:i+utf8.RuneLen(r)], ended
		}
	}
	return text, ""
}

// fakeDepth is how many tokens of a prediction the fake tries at a time.
const fakeDepth = 4

// rounds lays out the tokens of a generation in rounds, with the prediction for
// a draft. Without one they are as many as the tokens.
func (m *fakeModel) rounds(r engine.Request, out string, st *engine.Stats) []engine.Token {
	toks := make([]engine.Token, len(out))
	for i := range toks {
		toks[i].ID = int32(out[i])
	}
	if r.Prediction == nil || r.Speculation.Drafter == engine.None {
		st.Rounds = len(out)
		return toks
	}
	st.Drafter = "prediction"
	for i := 1; i < len(toks); {
		n, a := min(fakeDepth, max(len(r.Prediction)-i, 0), len(toks)-1-i), 0
		toks[i].Drafted = n
		for a < n && toks[i+a].ID == r.Prediction[i+a] {
			toks[i+a].Draft = true
			if a == len(st.AcceptedAt) {
				st.AcceptedAt = append(st.AcceptedAt, 0)
			}
			st.AcceptedAt[a]++
			a++
		}
		st.Depths, st.Accepts = append(st.Depths, n), append(st.Accepts, a)
		st.Rounds++
		st.Drafted += n
		st.Accepted += a
		i += a + 1
	}
	st.Draft, st.Verify = time.Millisecond, 4*time.Millisecond
	st.Blocks = engine.Blocks{Count: 3, Total: 6 * time.Millisecond, Early: 6 * time.Millisecond, Max: 3 * time.Millisecond}
	st.PredictionAccepted, st.PredictionRejected = st.Accepted, st.Drafted-st.Accepted
	return toks
}

func fakeLogprobs(id int32, top int) *engine.Logprobs {
	l := &engine.Logprobs{Logprob: -0.5}
	for k := range top {
		l.Top = append(l.Top, engine.TokenLogprob{ID: id + int32(k), Logprob: -0.5 * float32(k+1)})
	}
	return l
}
