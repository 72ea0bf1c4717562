package modeltest

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
	"tandem/app/model"
	"tandem/engine"
)

// A Fake is a [model.Model] for tests. It answers every prompt with Output, one byte a token. Ids
// from 256 on are special tokens. Set the exported fields before the first request; a test
// that reads the records while requests run locks Mu.
type Fake struct {
	Name, CacheKey string
	Purpose        string // what Kind returns
	Context        int    // tokens
	Output         string
	Finish         engine.Finish
	Template       func(vars []byte) (string, error) // nil for a model without one
	FillsMiddle    bool
	AnyArguments   bool // see dialect.History
	Sampling       model.Defaults
	TemplateSource string   // tells the dialect
	MoreSpecials   []string // special tokens after Specials
	EndMark        int32    // ends a text that is encoded whole; 0 for none
	LongestContext int      // the most tokens that the user could set
	Continuation   string   // the output after a generated text that is no prefix of Output

	// OnRead is called by Embed and Relevance, if set.
	OnRead func(context.Context) error

	// Script replaces the answers, if set.
	Script func(context.Context, engine.Request) iter.Seq2[engine.Token, error]

	// OnRelease is called by Release, if set.
	OnRelease func()

	// Records of what the model was asked for, and their lock.
	Mu           sync.Mutex
	EncodedTexts int
	Requests     []engine.Request
	ReadTexts    [][]int32
	Vars         []string
	Grammars     []model.Grammar
	OpenMatchers int
}

var _ model.Model = (*Fake)(nil)

// Specials are the special tokens of every Fake.
var Specials = []string{"<bos>", "<pre>", "<suf>", "<mid>", "<eos>"}

// Template prints each message on a line, after the first letter of its role. It refuses
// the message "forbidden".
func Template(vars []byte) (string, error) {
	var v struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(vars, &v); err != nil {
		return "", &engine.Error{Code: engine.CodeInternal,
			Message: "the server wrote bad variables: " + string(vars)}
	}
	var b strings.Builder
	for _, m := range v.Messages {
		if m.Content == "forbidden" {
			return "", control.Errorf(control.CodeInvalid,
				"The model's chat template refuses these messages: no such talk")
		}
		fmt.Fprintf(&b, "%c%s\n", m.Role[0], m.Content)
	}
	return b.String(), nil
}

func (m *Fake) Reader() model.Reader       { return m }
func (m *Fake) Tokenizer() model.Tokenizer { return m }
func (m *Fake) ID() string                 { return m.Name }
func (m *Fake) Key() string                { return m.CacheKey }
func (m *Fake) ContextLength() int         { return m.Context }
func (m *Fake) LongerContext(n int) bool   { return n <= m.LongestContext }
func (m *Fake) Format() model.Format       { return model.Format{} }
func (m *Fake) VocabSize() int             { return 256 + len(m.specials()) }
func (m *Fake) Defaults() model.Defaults   { return m.Sampling }

func (m *Fake) Dialect() *dialect.Dialect {
	return dialect.Detect(m.TemplateSource, func(text string) (int32, bool, bool) {
		i := slices.Index(m.specials(), text)
		return int32(256 + i), true, i >= 0
	})
}

func (m *Fake) specials() []string { return slices.Concat(Specials, m.MoreSpecials) }

func (m *Fake) Special() (ids []int32) {
	for _, text := range m.Dialect().Special() {
		ids = append(ids, int32(256+slices.Index(m.specials(), text)))
	}
	return ids
}

// Release implements model.Model.
func (m *Fake) Release() {
	if m.OnRelease != nil {
		m.OnRelease()
	}
}

// FakeSlow is a text that a Fake refuses to tokenize.
const FakeSlow = "slow!"

func (m *Fake) Encode(text string, addSpecial bool) ([]int32, error) {
	if strings.Contains(text, FakeSlow) {
		return nil, control.Errorf(control.CodeInvalid, "the tokenizer takes too long")
	}
	m.Mu.Lock()
	m.EncodedTexts++
	m.Mu.Unlock()
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
	if addSpecial && m.EndMark != 0 {
		ids = append(ids, m.EndMark)
	}
	return ids, nil
}

func (m *Fake) EncodePlain(text string) ([]int32, error) {
	if strings.Contains(text, FakeSlow) {
		return nil, control.Errorf(control.CodeInvalid, "the tokenizer takes too long")
	}
	ids := make([]int32, len(text))
	for i := range ids {
		ids[i] = int32(text[i])
	}
	return ids, nil
}

func (m *Fake) Decode(ids []int32) string {
	var b []byte
	for _, id := range ids {
		b = append(b, m.TokenBytes(id)...)
	}
	return string(b)
}

func (m *Fake) TokenBytes(id int32) []byte {
	if id >= 256 {
		return []byte(m.specials()[id-256])
	}
	return []byte{byte(id)}
}

func (m *Fake) LongestToken() int { return len("<bos>") }

func (m *Fake) FIM() (model.FIM, bool) {
	return model.FIM{Prefix: "<pre>", Suffix: "<suf>", Middle: "<mid>"}, m.FillsMiddle
}

// Chat implements model.Model.
func (m *Fake) Chat(tools bool) model.Chat { return fakeChat{m} }

// A fakeChat is the chat template of a Fake.
type fakeChat struct{ *Fake }

// History implements model.Chat.
func (m fakeChat) History() dialect.History {
	form := m.Dialect().Histories()[0]
	form.AnyArguments = m.AnyArguments
	return form
}

// Render implements model.Chat.
func (m fakeChat) Render(_ context.Context, vars []byte) (string, error) {
	m.Mu.Lock()
	m.Vars = append(m.Vars, string(vars))
	m.Mu.Unlock()
	if m.Template == nil {
		return "", model.ErrNoTemplate
	}
	return m.Template(vars)
}

// Matcher refuses a grammar with the word impossible. Every other one allows any text.
func (m *Fake) Matcher(_ context.Context, g model.Grammar) (model.Matcher, error) {
	if strings.Contains(string(g.JSON)+g.Lark+g.Regex, "impossible") {
		return nil, control.Errorf(control.CodeInvalid, "the fake refuses this")
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Grammars = append(m.Grammars, g)
	m.OpenMatchers++
	return &fakeMatcher{model: m}, nil
}

// CheckTexts takes any rules.
func (m *Fake) CheckTexts(context.Context, []dialect.Tool) error { return nil }

// A fakeMatcher is counted in OpenMatchers until it is closed.
type fakeMatcher struct {
	engine.Matcher
	model *Fake
}

func (m *fakeMatcher) Close() error {
	m.model.Mu.Lock()
	defer m.model.Mu.Unlock()
	m.model.OpenMatchers--
	return nil
}

// Generate keeps the promises of engine.Engine: whole runes in Text, Finish on the last
// token, Done before the end.
func (m *Fake) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	m.Mu.Lock()
	m.Requests = append(m.Requests, r)
	m.Mu.Unlock()
	if m.Script != nil {
		return m.Script(ctx, r)
	}
	return func(yield func(engine.Token, error) bool) {
		st := engine.Stats{PromptTokens: len(r.Prompt), Matched: len(r.Prompt)/2 + 1,
			CachedTokens: len(r.Prompt) / 2, Restore: time.Millisecond, Miss: "no checkpoint there",
			Seed: 7, Prefill: 2 * time.Millisecond, FirstToken: 3 * time.Millisecond}
		if r.Seed != nil {
			st.Seed = *r.Seed
		}
		if d := r.Speculation.Drafter; d == "mtp" {
			st.Err = &engine.Error{Code: engine.CodeInvalid,
				Message: `speculation.drafter "mtp" is not there for this model; it has auto, none, ngram`}
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
					t.Logprobs = logprobsOf(id, r.TopLogprobs)
				}
				if !yield(t, nil) {
					return
				}
			}
		}
		if r.Progress != nil {
			r.Progress(len(r.Prompt), len(r.Prompt))
		}
		out, finish, ended := m.says(r)
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
				t.Logprobs = logprobsOf(t.ID, r.TopLogprobs)
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

// says returns the text of an answer, cut where a stop text or a limit ends it, why it ends
// there, and the stop text.
func (m *Fake) says(r engine.Request) (out string, finish engine.Finish, ended string) {
	out, finish = m.Output, m.Finish
	if had := m.Decode(r.Generated); m.Continuation != "" && !strings.HasPrefix(out, had) {
		out = had + m.Continuation
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
	if n := m.Context - len(r.Prompt); len(out) > n {
		out, finish, ended = out[:n], engine.FinishLength, ""
	}
	if r.MaxTokens != nil && len(out) > *r.MaxTokens {
		out, finish, ended = out[:*r.MaxTokens], engine.FinishLength, ""
	}
	return out, finish, ended
}

// heard hands a text to stop rune by rune. It returns the text up to where stop ended it, and
// what stop returned there.
func heard(text string, stop func(string) string) (out, ended string) {
	for i, r := range text {
		if ended = stop(string(r)); ended != "" {
			return text[:i+utf8.RuneLen(r)], ended
		}
	}
	return text, ""
}

// fakeDepth is the number of tokens of a prediction that a Fake tries in one round.
const fakeDepth = 4

// rounds lays out the tokens of a generation in rounds that draft from the prediction.
// Without a prediction each token is a round.
func (m *Fake) rounds(r engine.Request, out string, st *engine.Stats) []engine.Token {
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
	st.Blocks = engine.Blocks{Count: 3, Total: 6 * time.Millisecond, Early: 6 * time.Millisecond,
		Max: 3 * time.Millisecond}
	st.PredictionAccepted, st.PredictionRejected = st.Accepted, st.Drafted-st.Accepted
	return toks
}

func logprobsOf(id int32, top int) *engine.Logprobs {
	l := &engine.Logprobs{Logprob: -0.5}
	for k := range top {
		l.Top = append(l.Top, engine.TokenLogprob{ID: id + int32(k), Logprob: -0.5 * float32(k+1)})
	}
	return l
}
