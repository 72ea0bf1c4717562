package models_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A crowded model counts the steps that requests share, and holds the first forward until it is
// released.
type crowded struct {
	lm.Model
	begun, release chan struct{}
	once           sync.Once
	most           int // sequences of a forward

	longest int  // length of the longest prompt: several rows after it are a block
	shared  bool // a step was shared
	since   int  // blocks since the last shared step
	amid    int  // blocks between two shared steps
}

func (c *crowded) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	c.once.Do(func() {
		close(c.begun)
		<-c.release
	})
	c.most = max(c.most, len(b))
	switch {
	case len(b) > 1:
		if c.shared {
			c.amid += c.since
		}
		c.shared, c.since = true, 0
	case b[0].N > 1 && b[0].Pos >= c.longest:
		c.since++
	}
	return c.Model.Forward(s, b, taps)
}

// A picky grammar forbids a third of the tokens, another third every seven tokens, and the end.
type picky struct {
	vocab int
	said  []int32
}

func (m *picky) may(id int32) bool { return id < 256 && (int(id)+len(m.said)/7)%3 > 0 }
func (m *picky) Words() int        { return (m.vocab + 31) / 32 }
func (m *picky) Stopped() bool     { return false }

func (m *picky) Mask(bits []uint32) error {
	clear(bits)
	for id := range int32(m.vocab) {
		if m.may(id) {
			bits[id/32] |= 1 << (id % 32)
		}
	}
	return nil
}

func (m *picky) Accept(id int32) error {
	if !m.may(id) {
		return fmt.Errorf("token %d may not follow %v", id, m.said)
	}
	m.said = append(m.said, id)
	return nil
}

func (m *picky) Rollback(n int) error {
	m.said = m.said[:len(m.said)-n]
	return nil
}

// A scripts drafter is a scripted one that knows the texts of several requests.
type scripts struct {
	enginetest.Scripted
	texts [][]int32 // prompts and answers
}

func (d *scripts) Open(s *mlx.Scope, o draft.Options) (draft.Draft, error) {
	for _, text := range d.texts {
		if len(text) >= len(o.Prompt) && slices.Equal(text[:len(o.Prompt)], o.Prompt) {
			one := d.Scripted
			one.Text = text
			return one.Open(s, o)
		}
	}
	return nil, nil
}

// Some requests have a grammar, and some have drafts. Beside each other they give the same tokens
// and log-probabilities as alone, to the bit.
func TestRequestsSharingStepsEqualThoseAloneToTheBit(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	for _, of := range shapes {
		for _, layout := range of.layouts {
			l := newLossless(t, of.shape, layout, twoLayers)
			l.share()
			l.Close()
		}
	}
}

// share compares requests that share steps with the same requests alone.
func (l *lossless) share() {
	t := l.t
	vocab := l.bundle.Model.Config().VocabSize
	// requests below shared have no drafts, those from drafting on have fixed blocks
	const shared, drafting, n = 5, 6, 8
	longest := 9 + 13*(n-1)
	request := func(i int) engine.Request {
		r := engine.Request{Prompt: l.prompt(9+13*i, i), MaxTokens: new(40),
			IgnoreEOS: true, Seed: new(uint64(i)), Logprobs: true, TopLogprobs: 5}
		if i%2 == 1 {
			r.Grammar = &picky{vocab: vocab}
		}
		if i > 1 {
			r.Sampling = sample.Params{Temperature: 0.9, RepetitionPenalty: 1.1}
		}
		switch {
		case i < shared:
			r.Speculation.Drafter = engine.None
		case i >= drafting:
			r.Speculation = engine.Speculation{Depth: new(3),
				Rollback: []engine.Rollback{engine.Trim, engine.Undo}[i%2]}
		}
		return r
	}
	drafter := &scripts{Scripted: enginetest.Scripted{Vocab: vocab, Layers: []int{0, 1},
		Wrong: func(round, n int) int { return round % (n + 1) }}}
	say := func(model lm.Model, drafters []draft.Drafter,
		requests ...engine.Request) ([][]engine.Token, []engine.Stats) {
		e := engine.New(l.th, model, l.bundle.Tokenizer,
			engine.Options{Layout: l.layout, KVBits: l.kvBits, Chunk: 32, Drafters: drafters})
		defer e.Close()
		out, stats := make([][]engine.Token, len(requests)),
			make([]engine.Stats, len(requests))
		var wg sync.WaitGroup
		for i, r := range requests {
			r.Done = func(s engine.Stats) { stats[i] = s }
			wg.Go(func() {
				for tok, err := range e.Generate(t.Context(), r) {
					if err != nil {
						t.Error(err)
					}
					out[i] = append(out[i], tok)
				}
			})
			if c, ok := model.(*crowded); ok && i == 0 {
				<-c.begun
			}
		}
		if c, ok := model.(*crowded); ok {
			enginetest.Await(t, "the other requests wait in the queue", func() bool {
				return e.Queued() >= len(requests)-1
			})
			close(c.release)
		}
		wg.Wait()
		return out, stats
	}
	var want [][]engine.Token
	var all []engine.Request
	for i := range n {
		r := request(i)
		r.Speculation = engine.Speculation{Drafter: engine.None}
		alone, _ := say(l.bundle.Model, nil, r)
		want, all = append(want, alone[0]), append(all, request(i))
		text := r.Prompt
		for _, tok := range alone[0] {
			text = append(text, tok.ID)
		}
		drafter.texts = append(drafter.texts, text)
	}
	c := &crowded{Model: l.bundle.Model, begun: make(chan struct{}),
		release: make(chan struct{}), longest: longest}
	got, stats := say(c, []draft.Drafter{drafter}, all...)
	if c.most < shared || c.amid == 0 {
		t.Errorf("%s, %s: at most %d requests shared a step, with %d blocks between such steps",
			l.shape, l.layout, c.most, c.amid)
	}
	for i := range n {
		if len(want[i]) != 40 ||
			!slices.EqualFunc(got[i], want[i], func(a, b engine.Token) bool {
				return a.ID == b.ID && a.Logprobs.Logprob == b.Logprobs.Logprob &&
					slices.Equal(a.Logprobs.Top, b.Logprobs.Top)
			}) {
			t.Errorf("%s, %s, request %d: %v, alone %v", l.shape, l.layout, i, got[i],
				want[i])
		}
		if st := stats[i]; i < shared && st.Drafted > 0 ||
			i >= drafting && (st.Accepted == 0 || st.Accepted == st.Drafted) {
			t.Errorf("%s, %s, request %d: %d of %d drafts were accepted (%s)", l.shape,
				l.layout, i, st.Accepted, st.Drafted, st.NoDrafter)
		}
	}
}
