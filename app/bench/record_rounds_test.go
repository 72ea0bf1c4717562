package bench

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/engine/tokenizer"
	"tandem/models"
)

var (
	recordRounds  = flag.String("record-rounds", "", "write recorded rounds into the `FILE`")
	recordModel   = flag.String("record-model", "", "of the model in `FILE`, in place of the pocket model")
	recordDrafter = flag.String("record-drafter", "", "with the drafter in the `FOLDER`, in place of the model's own")
)

// recordedDrafts is how many tokens a drafter with weights proposes in a recorded round.
const recordedDrafts = 7

// A recordedText has, for each token of an answer, what each drafter proposes after it. The
// answer is the target's own whichever drafter is used, so that any way to choose drafters can be
// replayed from it. Figures are digits to base 36, one a token.
type recordedText struct {
	Model string        `json:"model"`
	Kind  string        `json:"kind"`
	Arms  []recordedArm `json:"arms"`
}

type recordedArm struct {
	Name    string `json:"name"`
	Offered string `json:"offered"`         // tokens
	Stood   string `json:"stood"`           // of them, before the first that differs from the answer
	Match   string `json:"match,omitempty"` // see draft.Features
	Count   string `json:"count,omitempty"`
	Share   string `json:"share,omitempty"` // in 35ths
	First   string `json:"first,omitempty"` // the drafter's own probability of its first token, in 35ths
	Hope    string `json:"hope,omitempty"`  // drafts that are accepted by its own probabilities, in quarters
}

// digit writes a figure as one digit to base 36.
func digit(x float64) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	i := int(math.Round(min(max(x, 0), 35)))
	return digits[i : i+1]
}

// A recorded round has what a drafter proposes and how much of it the answer has. If a file is
// named, it gets rounds of a real pair on real texts, for the tests of engine/draft.
func TestRecordRounds(t *testing.T) {
	_, b := openTiny(t, "")
	d, err := LoadDrafters(t.Context(), b, "", nil, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	said, err := b.Tokenizer.Encode("one two three four five six seven eight nine ten. ",
		tokenizer.EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answer := slices.Concat(said[:8], []int32{said[0]}, said[9:]) // one token is another
	r := roundRecorder{t: t, bundle: b, prompt: slices.Concat(said, said), answer: answer}
	// n-grams propose the rest of the text, which is right up to the other token, and nothing just
	// after that
	if a := r.record(draft.Ngram{}); a.Offered != "jihgfedc00087654321" ||
		a.Stood != "7654321000087654321" || a.Match != "lmnopqrs0003456789a" {
		t.Errorf("recorded of n-grams: %+v", a)
	}
	for _, one := range continued(d.List) {
		a := r.record(one)
		if len(a.Offered) != len(answer)-1 || len(a.Stood) != len(a.Offered) {
			t.Errorf("%s has %d and %d figures of an answer of %d tokens", a.Name, len(a.Offered),
				len(a.Stood), len(answer))
		}
	}
	if *recordRounds != "" {
		recordReal(t)
	}
}

// recordReal writes the file that is named.
func recordReal(t *testing.T) {
	dir, drafters := *recordModel, []string(nil)
	if *recordDrafter != "" {
		drafters = []string{*recordDrafter}
	}
	th, b, err := OpenModel(t.Context(), dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	defer b.Close()
	d, err := LoadDrafters(t.Context(), b, dir, drafters, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := Contest{Thread: th, Model: b.Model, Log: io.Discard,
		Engines: func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
			return engine.New(th, m, b.Tokenizer, engine.Options{Drafters: drafters})
		}}
	side := c.Open(Way{})
	defer side.Close()
	texts, err := NewWorkloads(b.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	var list []recordedText
	for _, w := range recordedWorkloads(t, b, texts, dir != "") {
		for _, set := range []Setting{{}, {Temperature: sampledTemperature}} {
			for _, i := range w.Picks {
				a, err := side.Answer(t.Context(), w, i, set)
				if err != nil {
					t.Fatal(err)
				}
				if a.Reject() != "" {
					continue
				}
				r := roundRecorder{t: t, bundle: b, prompt: w.Prompts[i].IDs, answer: a.IDs, set: set,
					seed: uint64(i)}
				text := recordedText{Model: ModelName(dir), Kind: w.Name + ", " + set.String()}
				for _, one := range continued(d.List) {
					text.Arms = append(text.Arms, r.record(one))
				}
				list = append(list, text)
				data, err := json.MarshalIndent(list, "", " ")
				if err == nil {
					err = os.WriteFile(*recordRounds, append(data, '\n'), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s %d: %d tokens", text.Kind, i, len(a.IDs))
			}
		}
	}
}

// recordedWorkloads lists what is answered: code and edits, and prose if the model can chat.
func recordedWorkloads(t *testing.T, b *models.Bundle, texts Workloads, chats bool) []*Workload {
	some := func(w *Workload, n, limit int) *Workload {
		w.Picks, w.Limit = w.Picks[:min(n, len(w.Picks))], limit
		return w
	}
	codes := 10
	if chats {
		codes = 4 // it takes minutes
	}
	list := []*Workload{some(texts.Code, codes, 64), some(texts.Edit, 4, 96)}
	if !chats {
		return list
	}
	prose := &Workload{Name: "prose", Limit: 64, unusable: map[unusable]string{}}
	for i, text := range []string{
		"Explain in a few sentences how soap cleans hands.",
		"Write a short letter to a neighbour who plays loud music at night.",
		"What is the difference between a comet and an asteroid?",
		"Give me three tips for learning a new language, with reasons.",
		"Summarise the story of Little Red Riding Hood.",
		"How does a ship of steel float on water?",
	} {
		ids, err := AskDirectly(context.Background(), b, text)
		if err != nil {
			t.Fatal(err)
		}
		prose.Prompts, prose.Picks = append(prose.Prompts, Prompt{IDs: ids}), append(prose.Picks, i)
	}
	return append([]*Workload{prose}, list...)
}

// A roundRecorder lets drafters propose after each token of an answer.
type roundRecorder struct {
	t              *testing.T
	bundle         *models.Bundle
	prompt, answer []int32
	set            Setting
	seed           uint64
}

// record returns what a drafter proposes.
func (r roundRecorder) record(d draft.Drafter) recordedArm {
	a := recordedArm{Name: d.Name()}
	m := r.bundle.Model
	history := append(append([]int32(nil), r.prompt...), r.answer...)
	opts := cache.Options{Rows: len(history) + cache.MaxBlock}
	var caches cache.Stack
	var dr draft.Draft
	var open []draft.Draft
	var smp *sample.Sampler
	do := func(fn func(s *mlx.Scope) error) {
		r.t.Helper()
		if err := r.bundle.Thread().Do(context.Background(), fn); err != nil {
			r.t.Fatal(err)
		}
	}
	parts := []draft.Drafter{d} // that get the text
	if c, ok := d.(*draft.Continued); ok {
		parts = []draft.Drafter{c.Trained(), draft.Ngram{}}
	}
	do(func(s *mlx.Scope) (err error) {
		caches = m.NewCaches(opts)
		smp = sample.New(s, sample.Params{Temperature: r.set.Temperature}, r.seed,
			m.Config().VocabSize, r.prompt)
		o := draft.Options{Prompt: r.prompt, Sampler: smp, Caches: opts}
		for _, p := range parts {
			if dr, err = p.Open(s, o); err != nil {
				return err
			}
			open = append(open, dr)
		}
		if len(parts) > 1 {
			o.Trained, o.Lookups = open[0], []draft.Lookup{open[1].(draft.Lookup)}
			dr, err = d.Open(s, o)
		}
		return err
	})
	defer do(func(s *mlx.Scope) error {
		for _, one := range open {
			one.Free(s)
		}
		smp.Free()
		caches.Free(s)
		return nil
	})
	fed := 0
	for n := len(r.prompt) + 1; n < len(history); n++ {
		do(func(s *mlx.Scope) error {
			for fed < n-1 {
				k := min(n-1-fed, opts.MaxRows())
				out := m.Forward(s, lm.Batch{{Tokens: mlx.New(s, history[fed:fed+k], k), N: k, Pos: fed,
					Caches: caches}}, parts[0].Taps())
				open[0].Committed(s, history[fed:fed+k], fed, out.Taps)
				fed += k
				if err := s.Eval(append(caches.Arrays(), dr.Arrays()...)...); err != nil {
					return err
				}
			}
			return r.round(s, d, dr, history, n, &a)
		})
	}
	return a
}

// round records the proposal after the first n tokens of history.
func (r roundRecorder) round(s *mlx.Scope, d draft.Drafter, dr draft.Draft, history []int32, n int,
	a *recordedArm) error {
	most := min(d.MaxDrafts(), len(history)-n)
	if d.Name() != (draft.Ngram{}).Name() {
		most = min(most, recordedDrafts)
	}
	p := dr.Propose(s, history[:n:n], most)
	stood := 0
	if p.N > 0 {
		keep := append(dr.Arrays(), p.Tokens)
		var top *mlx.Array
		if p.LogQ != nil {
			top = s.Max(s.Softmax(p.LogQ, -1), -1, false)
			keep = append(keep, top)
		}
		if err := s.Eval(keep...); err != nil {
			return err
		}
		ids, err := mlx.Read[int32](s, p.Tokens)
		if err != nil {
			return err
		}
		for stood < p.N && ids[stood] == history[n+stood] {
			stood++
		}
		if top != nil {
			probs, err := mlx.Read[float32](s, top)
			if err != nil {
				return err
			}
			hope, reach := 0.0, 1.0
			for _, q := range probs {
				reach *= float64(q)
				hope += reach
			}
			a.First += digit(35 * float64(probs[0]))
			a.Hope += digit(4 * hope)
		}
	}
	a.Offered += digit(float64(p.N))
	a.Stood += digit(float64(stood))
	if f, ok := dr.(draft.Featured); ok {
		x := f.Features(history[:n:n])
		a.Match += digit(float64(x.Match))
		a.Count += digit(float64(x.Count))
		a.Share += digit(35 * x.Share)
	}
	return nil
}
