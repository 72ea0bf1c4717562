package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// wild is a table of random logits over v ids.
func wild(v int) [][]float32 {
	rng := rand.New(rand.NewPCG(8, 15))
	table := make([][]float32, v)
	for i := range table {
		table[i] = make([]float32, v)
		for j := range table[i] {
			table[i][j] = float32(rng.NormFloat64() * 2)
		}
	}
	return table
}

// scripted returns an engine and the tokens of r's plain decoding. The engine's drafter knows these
// tokens.
func scripted(t *testing.T, r Request, opts Options, eos ...int32) (*fixture, *enginetest.Scripted,
	[]Token) {
	t.Helper()
	d := &enginetest.Scripted{Vocab: 64}
	opts.Drafters = []draft.Drafter{d}
	f := newFixture(t, wild(64), opts, eos...)
	r.Speculation.Drafter = None
	all := r
	all.IgnoreEOS, all.Stop = true, nil
	more := *r.MaxTokens + 40
	all.MaxTokens = &more
	tokens, _, _ := f.run(t, all)
	d.Text = slices.Concat(r.Prompt, ids(tokens))
	plain, _, stats := f.run(t, r)
	if stats.Drafted != 0 {
		t.Fatalf("plain decoding drafted %d tokens", stats.Drafted)
	}
	return f, d, plain
}

// sameTokens compares two generations, their texts and log-probabilities too.
func sameTokens(t *testing.T, what string, got, want []Token) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d tokens, want %d", what, len(got), len(want))
		return
	}
	for i, g := range got {
		w := want[i]
		if g.ID != w.ID || g.Text != w.Text || g.Finish != w.Finish {
			t.Errorf("%s: token %d is %d %q %s, want %d %q %s",
				what, i, g.ID, g.Text, g.Finish, w.ID, w.Text, w.Finish)
			return
		}
		if (g.Logprobs == nil) != (w.Logprobs == nil) || g.Logprobs != nil &&
			(g.Logprobs.Logprob != w.Logprobs.Logprob ||
				!slices.Equal(g.Logprobs.Top, w.Logprobs.Top)) {
			t.Errorf("%s: the log-probabilities of token %d are %v, want %v",
				what, i, g.Logprobs, w.Logprobs)
			return
		}
	}
}

// checkRounds compares the rounds that the tokens of a generation report with its figures.
func checkRounds(t *testing.T, what string, tokens []Token, stats Stats) {
	t.Helper()
	var depths, accepts []int
	for i, tok := range tokens {
		if i > 0 && !tokens[i-1].Draft { // a round ends with the target's own token
			depths, accepts = append(depths, tok.Drafted), append(accepts, 0)
		} else if tok.Drafted != 0 {
			t.Errorf("%s: a round begins with token %d, inside one", what, i)
		}
		if tok.Draft {
			accepts[len(accepts)-1]++
		}
	}
	sum := 0
	for _, n := range stats.Accepts {
		sum += n
	}
	tokensOfBlocks := 0
	for i, n := range stats.Depths {
		if n > 0 {
			tokensOfBlocks += 1 + stats.Accepts[i]
		}
	}
	// A generation that ends with a draft lacks the target's own token.
	if n := stats.Blocks.Tokens; n != tokensOfBlocks &&
		!(n == tokensOfBlocks-1 && tokens[len(tokens)-1].Draft) {
		t.Errorf("%s: rounds with drafts gave %d tokens, of %d", what, n, tokensOfBlocks)
	}
	if !slices.Equal(depths, stats.Depths) || !slices.Equal(accepts, stats.Accepts) ||
		sum != stats.Accepted {
		t.Errorf("%s: tokens of rounds with %d of %d drafts; the figures say %d of %d",
			what, accepts, depths, stats.Accepts, stats.Depths)
	}
}

// TestVerifyEqualsPlain expects the tokens of plain decoding from drafts that go wrong at each
// position in turn.
func TestVerifyEqualsPlain(t *testing.T) {
	for name, r := range map[string]Request{
		"greedy":  {},
		"sampled": {Sampling: sample.Params{Temperature: 0.8, TopK: 20, TopP: 0.95}},
		"penalties": {Sampling: sample.Params{Temperature: 1, RepetitionPenalty: 1.3,
			FrequencyPenalty: 0.4, PresencePenalty: 0.2}},
		"logprobs": {Logprobs: true, TopLogprobs: 3},
	} {
		r.Prompt, r.MaxTokens, r.Seed = []int32{1, 2, 3, 4, 5}, new(150), new(uint64(7))
		r.IgnoreEOS = true
		f, d, plain := scripted(t, r, Options{Chunk: 4})
		for _, depth := range []int{1, 2, 3, 7, 15, 31} {
			for _, rollback := range []Rollback{Trim, Undo} {
				d.Wrong = func(round, n int) int { return round % (n + 1) }
				r.Speculation = Speculation{Depth: &depth, Rollback: rollback}
				got, _, stats := f.run(t, r)
				what := fmt.Sprintf("%s, %d drafts, %s", name, depth, rollback)
				sameTokens(t, what, got, plain)
				if stats.Drafted == 0 || stats.Accepted == 0 || stats.Accepted >= stats.Drafted {
					t.Errorf("%s: %d of %d drafts were accepted", what, stats.Accepted, stats.Drafted)
				}
				// The first token comes from the prompt, in a round of its own.
				if stats.Syncs != stats.Rounds+1 {
					t.Errorf("%s: %d syncs in %d rounds", what, stats.Syncs, stats.Rounds)
				}
				if stats.CompletionTokens != 1+stats.Rounds+stats.Accepted {
					t.Errorf("%s: %d tokens from %d rounds with %d drafts",
						what, stats.CompletionTokens, stats.Rounds, stats.Accepted)
				}
				checkRounds(t, what, got, stats)
			}
		}
	}
}

// TestGenerationEndsOnEveryRowOfABlock ends a generation on each row of a block: by an EOS token,
// by the limit and with blocks of each depth.
func TestGenerationEndsOnEveryRowOfABlock(t *testing.T) {
	base := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(60), Seed: new(uint64(3)),
		Sampling: sample.Params{Temperature: 1}}
	_, _, all := scripted(t, base, Options{})
	for row := range 9 {
		for _, how := range []string{"eos", "limit", "depth"} {
			r := base
			r.Speculation = Speculation{Depth: new(8)}
			var eos []int32
			switch how {
			case "eos":
				at := 20 + row
				for slices.Contains(ids(all[:at]), all[at].ID) {
					at++
				}
				eos = []int32{all[at].ID}
			case "limit":
				r.MaxTokens = new(20 + row)
			case "depth":
				r.Speculation.Depth = new(row)
			}
			f, _, plain := scripted(t, r, Options{}, eos...)
			got, _, stats := f.run(t, r)
			what := fmt.Sprintf("%s, row %d", how, row)
			sameTokens(t, what, got, plain)
			if (stats.Drafted == 0) != (how == "depth" && row == 0) {
				t.Errorf("%s: %d drafts", what, stats.Drafted)
			}
			checkRounds(t, what, got, stats)
			if stats.CompletionTokens != len(got) {
				t.Errorf("%s: %d completion tokens, %d were handed over",
					what, stats.CompletionTokens, len(got))
			}
		}
	}
}

// TestLookupsKeepThePlainOutput decodes a text that repeats itself with lookups alone. The engine
// chooses its depth by the clock, so only the text is certain.
func TestLookupsKeepThePlainOutput(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(40), Options{Drafters: []draft.Drafter{draft.Ngram{}}})
	r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(400)}
	r.Speculation.Drafter = None
	plain, _, _ := f.run(t, r)
	r.Speculation.Drafter = ""
	got, _, _ := f.run(t, r)
	sameTokens(t, "lookups as it likes", got, plain)
	r.Speculation.Depth = new(4)
	got, _, stats := f.run(t, r)
	sameTokens(t, "lookups", got, plain)
	if stats.Drafter != "ngram" || stats.Accepted < 100 {
		t.Errorf("%d of %d drafts by %q were accepted", stats.Accepted, stats.Drafted, stats.Drafter)
	}
}

// TestRequestsThatDraftBesideEachOtherKeepTheirOutput runs requests whose depth the engine chooses
// beside others with a fixed depth. The clock decides when the former draft. Their output does not
// depend on it.
func TestRequestsThatDraftBesideEachOtherKeepTheirOutput(t *testing.T) {
	f := newFixture(t, wild(64), Options{Drafters: []draft.Drafter{draft.Prediction{},
		draft.Ngram{}}})
	var requests []Request
	var want [][]Token
	for i := range 6 {
		r := Request{Prompt: []int32{1, 2, int32(i)}, MaxTokens: new(150), Seed: new(uint64(i)),
			Sampling: sample.Params{Temperature: 0.3}}
		r.Speculation.Drafter = None
		plain, _, _ := f.run(t, r)
		if r.Speculation.Drafter = Auto; i%2 == 0 {
			r.Prediction = ids(plain)
		}
		if i >= 4 {
			r.Speculation.Depth = new(4)
		}
		requests, want = append(requests, r), append(want, plain)
	}
	before := len(f.chain.Forwards)
	for i, got := range f.together(requests) {
		sameTokens(t, fmt.Sprint("request ", i), got.tokens, want[i])
		if got.err != nil || i >= 4 && got.stats.Accepted == 0 {
			t.Errorf("request %d: %d of %d drafts stood, %v",
				i, got.stats.Accepted, got.stats.Drafted, got.err)
		}
	}
	forwards := f.chain.Forwards[before:]
	shared := func(rows []int) bool { return len(rows) > 1 }
	first := slices.IndexFunc(forwards, shared)
	if first < 0 || !slices.ContainsFunc(forwards[first:],
		func(rows []int) bool { return slices.Equal(rows, []int{5}) }) {
		t.Errorf("no block beside shared steps: %v", forwards)
	}
}

// TestPredictionWithAnErrorKeepsTheOutput sends a prediction that differs from the output in one
// place.
func TestPredictionWithAnErrorKeepsTheOutput(t *testing.T) {
	f := newFixture(t, wild(64), Options{Drafters: []draft.Drafter{draft.Prediction{},
		draft.Ngram{}}})
	r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(61), Seed: new(uint64(7)),
		Sampling: sample.Params{Temperature: 1}}
	r.Speculation.Drafter = None
	plain, _, stats := f.run(t, r)
	if stats.NoDrafter == "" {
		t.Error("decoding was plain, without a reason in Stats.NoDrafter")
	}
	r.Prediction = ids(plain)
	r.Prediction[22] = (r.Prediction[22] + 1) % 64
	if _, _, stats = f.run(t, r); stats.PredictionAccepted != 0 || stats.PredictionRejected != 0 {
		t.Errorf("without a drafter %d tokens of the prediction stood, %d did not",
			stats.PredictionAccepted, stats.PredictionRejected)
	}
	r.Speculation = Speculation{Depth: new(4), Drafter: "ngram"} // what is predicted goes first
	got, _, stats := f.run(t, r)
	sameTokens(t, "predicted", got, plain)
	accepted, rejected := stats.PredictionAccepted, stats.PredictionRejected
	if accepted < 40 {
		t.Errorf("accepted = %v, want at least 40", accepted)
	}
	if rejected == 0 {
		t.Error("rejected is 0")
	}
	if rejected > 12 {
		t.Errorf("rejected = %v, want at most 12", rejected)
	}
	if accepted+rejected > stats.Drafted {
		t.Errorf("accepted+rejected = %v, want at most %v",
			accepted+rejected, stats.Drafted)
	}
	if accepted > stats.Accepted {
		t.Errorf("accepted = %v, want at most %v", accepted, stats.Accepted)
	}
}

// TestRequestWithoutDraftsSaysWhy expects the reason in Stats.NoDrafter.
func TestRequestWithoutDraftsSaysWhy(t *testing.T) {
	ngram := Options{Drafters: []draft.Drafter{draft.Ngram{}}}
	for _, c := range []struct {
		opts        Options
		speculation Speculation
		max         int
		why         string
	}{
		{ngram, Speculation{Drafter: None}, 9, "off"},
		{ngram, Speculation{Depth: new(0)}, 9, "off"},
		{Options{}, Speculation{}, 9, "no drafter"},
		{ngram, Speculation{}, 9, "anything to propose"},
		{ngram, Speculation{}, 1, ""},
	} {
		f := newFixture(t, enginetest.Cycle(40), c.opts)
		_, _, stats := f.run(t, Request{Prompt: []int32{1, 2, 3}, MaxTokens: &c.max,
			Speculation: c.speculation})
		if !strings.Contains(stats.NoDrafter, c.why) || (stats.NoDrafter == "") != (c.why == "") {
			t.Errorf("%+v: %q", c, stats.NoDrafter)
		}
	}
}

// TestDraftFailureAtAnyStepKeepsOutput breaks the draft inside a generation: once where it
// proposes, once where it gets tokens.
func TestDraftFailureAtAnyStepKeepsOutput(t *testing.T) {
	for _, where := range []string{"proposing", "committing"} {
		for _, how := range []string{"error", "panic"} {
			r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(60),
				Sampling: sample.Params{RepetitionPenalty: 1.2}}
			f, d, plain := scripted(t, r, Options{})
			calls := 0
			fail := func() error {
				switch calls++; {
				case calls <= 3:
					return nil
				case how == "panic":
					panic("broken")
				}
				return errors.New("broken")
			}
			if where == "proposing" {
				d.Fail = func(int) error { return fail() }
			} else {
				d.OnCommitted = func(s *mlx.Scope, _ []int32, _ int, _ []*mlx.Array) {
					if err := fail(); err != nil {
						s.Fail(err)
					}
				}
			}
			r.Speculation.Depth = new(3) // an engine that chooses the depth may draft too rarely
			got, _, stats := f.run(t, r)
			what := where + ", " + how
			sameTokens(t, what, got, plain)
			if !strings.Contains(stats.NoDrafter, "failed") || stats.Drafted == 0 {
				t.Errorf("%s: %d drafts, reason %q", what, stats.Drafted, stats.NoDrafter)
			}
		}
	}
}

// TestDraftGetsEveryToken expects that a draft that taps layers gets every token but the
// last. The tokens come in order, whatever rounds made them.
func TestDraftGetsEveryToken(t *testing.T) {
	r := Request{Prompt: []int32{1, 2, 3, 4, 5, 6, 7}, MaxTokens: new(60)}
	table := wild(64)
	for _, c := range []struct {
		period   int // one round in period is plain
		rollback Rollback
	}{{1, Trim}, {1 << 30, Trim}, {1 << 30, Undo}} {
		f, d, plain := scripted(t, r, Options{})
		f.Engine.Close()
		f.Engine = New(f.thread, f.chain, enginetest.ByteTokenizer(t),
			Options{Chunk: 4, Drafters: []draft.Drafter{&fickle{Scripted: d, period: c.period}}})
		d.Layers = []int{0, 1}
		d.OnCommitted = func(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array) {
			for i, id := range tokens {
				row, err := mlx.Read[float32](s, s.Contiguous(s.Slice(taps[1], 0, i, i+1)))
				if err != nil || !slices.Equal(row, table[id]) {
					t.Errorf("%+v: the tap at position %d is not that of token %d (%v)",
						c, from+i, id, err)
				}
			}
		}
		d.Wrong = func(round, n int) int { return round % (n + 1) }
		r.Speculation = Speculation{Depth: new(3), Rollback: c.rollback}
		got, _, stats := f.run(t, r)
		sameTokens(t, "tapped", got, plain)
		if (stats.Drafted == 0) != (c.period == 1) {
			t.Errorf("%+v: %d drafts", c, stats.Drafted)
		}
		for i, pos := range d.Seen {
			if pos != i {
				t.Fatalf("%+v: committed positions %v", c, d.Seen)
			}
		}
		if want := len(r.Prompt) + len(got) - 1; len(d.Seen) != want {
			t.Errorf("%+v: %d tokens were committed, want %d", c, len(d.Seen), want)
		}
	}
}

// fickle is a drafter that proposes now and then. It may answer differently when it is asked twice
// about one text.
type fickle struct {
	*enginetest.Scripted
	asked, period int
}

func (d *fickle) Open(s *mlx.Scope, o draft.Options) (draft.Draft, error) {
	one, err := d.Scripted.Open(s, o)
	return &fickleDraft{one, d}, err
}

type fickleDraft struct {
	draft.Draft
	d *fickle
}

// Peek implements draft.Peeker.
func (t *fickleDraft) Peek(_ []int32, n int) int {
	if t.d.asked++; t.d.asked%t.d.period == 0 {
		return 0
	}
	return n
}

// TestDraftThatPanicsInPlanningIsDropped expects that the request goes on with its other drafts, or
// plainly.
func TestDraftThatPanicsInPlanningIsDropped(t *testing.T) {
	r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(20), IgnoreEOS: true}
	f, d, plain := scripted(t, r, Options{})
	odd := &fickle{Scripted: d} // a period of 0: Peek divides by it
	for _, depth := range []*int{nil, new(3)} {
		for _, others := range []int{0, 1} {
			f.Engine.Close()
			f.Engine = New(f.thread, f.chain, enginetest.ByteTokenizer(t),
				Options{Drafters: append([]draft.Drafter{odd}, []draft.Drafter{d}[:others]...)})
			r.Speculation.Depth = depth
			got, _, stats := f.run(t, r)
			what := fmt.Sprintf("%v drafts, %d others", depth, others)
			sameTokens(t, what, got, plain)
			if !strings.Contains(stats.NoDrafter,
				"scripted failed: runtime error: integer divide by zero") || depth != nil &&
				(stats.Accepted > 0) != (others > 0) {
				t.Errorf("%s: %d drafts were accepted, %q", what, stats.Accepted, stats.NoDrafter)
			}
		}
	}
}

// TestPlainStepWithoutSuccessorLands begins plain steps that get no successor. This happens when
// figures of other requests change the choice between steps and blocks.
func TestPlainStepWithoutSuccessorLands(t *testing.T) {
	r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(60), IgnoreEOS: true}
	f, d, plain := scripted(t, r, Options{})
	for _, period := range []int{2, 3, 5} {
		for _, rollback := range []Rollback{Trim, Undo} {
			d.Wrong = func(round, n int) int { return round % (n + 1) }
			f.Engine.Close()
			f.Engine = New(f.thread, f.chain, enginetest.ByteTokenizer(t),
				Options{Drafters: []draft.Drafter{&fickle{Scripted: d, period: period}}})
			r.Speculation = Speculation{Depth: new(3), Rollback: rollback}
			got, _, stats := f.run(t, r)
			what := fmt.Sprintf("every %d, %s", period, rollback)
			sameTokens(t, what, got, plain)
			if stats.CompletionTokens != 1+stats.Rounds+stats.Accepted {
				t.Errorf("%s: %d tokens from %d rounds with %d drafts",
					what, stats.CompletionTokens, stats.Rounds, stats.Accepted)
			}
		}
	}
}

// TestDraftsMayKeepTheirTaps runs two drafters with the same taps. Both keep the rows that they are
// get, over plain rounds and rounds with drafts, and free them later.
func TestDraftsMayKeepTheirTaps(t *testing.T) {
	var drafters []*enginetest.Scripted
	held := make([][]*mlx.Array, 2)
	read := make([]int, 2)
	for i := range held {
		drafters = append(drafters, &enginetest.Scripted{Vocab: 64, Layers: []int{0},
			OnCommitted: func(s *mlx.Scope, _ []int32, _ int, taps []*mlx.Array) {
				held[i] = append(held[i], s.Keep(taps[0]))
				if len(held[i]) < 5+i {
					return
				}
				for _, tap := range held[i] {
					rows, err := mlx.Read[float32](s, s.Copy(s.Adopt(tap)))
					if err != nil {
						s.Fail(err)
					}
					read[i] += len(rows) / tap.Dim(1)
				}
				held[i] = nil
			}})
	}
	r := Request{Prompt: []int32{1, 2, 3, 4, 5}, MaxTokens: new(40), IgnoreEOS: true}
	f := newFixture(t, wild(64), Options{})
	plain, _, _ := f.run(t, r)
	r.Speculation.Depth = new(3)
	for _, silent := range []bool{true, false} {
		period := 1 << 30
		if silent {
			period = 1
		}
		var both []draft.Drafter
		for _, d := range drafters {
			d.Text = slices.Concat(r.Prompt, ids(plain))
			both = append(both, &fickle{Scripted: d, period: period})
		}
		f.Engine.Close()
		f.Engine = New(f.thread, f.chain, enginetest.ByteTokenizer(t), Options{Drafters: both})
		got, _, stats := f.run(t, r)
		what := fmt.Sprint("silent: ", silent)
		sameTokens(t, what, got, plain)
		if strings.Contains(stats.NoDrafter, "failed") || (stats.Drafted == 0) != silent {
			t.Errorf("%s: %d drafts, %s", what, stats.Drafted, stats.NoDrafter)
		}
	}
	for i, n := range read {
		if n < 40 {
			t.Errorf("drafter %d could read %d rows", i, n)
		}
	}
}
