package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// A cast has a drafter of each kind that is served, for one model. What they
// draft stands in part.
type cast struct {
	drafters []draft.Drafter
	block    *whispered
	free     []func() error
}

// cast loads one: a DFlash network with a block of 16 rows, and the model's own
// weights in a model of its own.
func (l *lossless) cast() *cast {
	l.t.Helper()
	config := l.bundle.Model.Config()
	load := func(dir string) *models.Drafter {
		d, err := models.LoadDrafter(l.t.Context(), l.bundle, dir, models.DrafterSettings{}, models.Options{})
		if err != nil {
			l.t.Fatal(err)
		}
		return d
	}
	network := load(enginetest.TinyDrafter(l.t, map[string]any{
		"hidden_size": config.HiddenSize, "num_target_layers": config.Layers, "block_size": 16,
		"dflash_config": map[string]any{"mask_token_id": 259, "target_layer_ids": []int{0, config.Layers - 1}},
	}))
	twin := load(enginetest.TinyModel(l.t, l.shape, l.fields))
	c := &cast{block: &whispered{Block: network.Block}}
	var flash *draft.DFlash
	if err := l.th.Do(l.t.Context(), func(s *mlx.Scope) error {
		flash = draft.NewDFlash(s, c.block, &whisperer{l.bundle.Model, c.block})
		return nil
	}); err != nil {
		l.t.Fatal(err)
	}
	c.drafters = []draft.Drafter{draft.Prediction{}, flash, draft.NewModel(&stumbling{Model: twin.Model}, l.bundle.Model), draft.Ngram{}}
	c.free = []func() error{
		func() error {
			return l.th.Do(context.Background(), func(*mlx.Scope) error { flash.Free(); return nil })
		},
		network.Close, twin.Close,
	}
	return c
}

func (c *cast) Close() (err error) {
	for _, free := range c.free {
		err = errors.Join(err, free())
	}
	return err
}

// A whispered network is a real one that is told how the text goes on: the
// first drafts of a block are right, one more of them each round, and the next
// one is wrong. Those behind are its own, which are noise.
type whispered struct {
	draft.Block
	text     []int32 // prompt and answer
	rounds   int
	pos, row int // of the anchor, and the row that is wrong of the block under way
}

func (w *whispered) Forward(s *mlx.Scope, taps []*mlx.Array, anchor *mlx.Array, n, pos int, caches []cache.Cache) *mlx.Array {
	w.pos, w.row = pos, w.rounds%(n+1)
	w.rounds++
	return w.Block.Forward(s, taps, anchor, n, pos, caches)
}

// A whisperer is the target whose head the network borrows.
type whisperer struct {
	lm.Model
	to *whispered
}

func (w *whisperer) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := w.Model.Unembed(s, hidden)
	n, vocab := logits.Dim(0), logits.Dim(1)
	sure := make([]float32, n*vocab)
	for i := range min(n, w.to.row+1) {
		if at := w.to.pos + 1 + i; at < len(w.to.text) {
			id := int(w.to.text[at])
			if i == w.to.row {
				id = (id + 1) % 256
			}
			sure[i*vocab+id] = 1e4
		}
	}
	return s.Add(logits, mlx.New(s, sure, n, vocab))
}

// A stumbling model says every seventh time what nobody would.
type stumbling struct {
	lm.Model
	said int
}

func (m *stumbling) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := m.Model.Unembed(s, hidden)
	sure := make([]float32, logits.Dim(0)*logits.Dim(1))
	if m.said++; m.said%7 == 0 {
		sure[m.said%256] = 1e4
	}
	return s.Add(logits, mlx.New(s, sure, logits.Dim(0), logits.Dim(1)))
}

// narrow are the only tokens of a text that says again what it said before.
var narrow = []int32{20, 21}

// suit makes a request one for a drafter: lookups need something to look up.
func suit(r engine.Request, d draft.Drafter) engine.Request {
	if _, ok := d.(draft.Ngram); !ok {
		return r
	}
	r.Prompt = slices.Clone(r.Prompt)
	r.Sampling.LogitBias = map[int32]float32{}
	for i, id := range r.Prompt {
		r.Prompt[i] = narrow[int(id)%len(narrow)]
	}
	for _, id := range narrow {
		r.Sampling.LogitBias[id] = 100
	}
	return r
}

// tell lets the cast know what a request is answered plainly. A Prediction has
// a mistake now and then, and is the request's of that drafter alone: it comes
// before all others.
func (c *cast) tell(r *engine.Request, d draft.Drafter, answer []int32) {
	c.block.text = slices.Concat(r.Prompt, answer)
	if _, ok := d.(draft.Prediction); !ok {
		return
	}
	r.Prediction = slices.Clone(answer)
	for i := 5; i < len(answer); i += 7 {
		r.Prediction[i] = (answer[i] + 1) % 256
	}
}

// each decodes with every drafter there is, and counts the logits that differ.
func (l *lossless) each(c cell, of *cast) (differ, all int) {
	l.t.Helper()
	for _, d := range of.drafters {
		r := suit(engine.Request{
			Prompt: l.prompt(30, 2), MaxTokens: new(40), IgnoreEOS: true, Seed: new(uint64(5)),
			Sampling: sample.Params{Temperature: 0.8},
		}, d)
		want := l.plain("by "+d.Name(), r, 0)
		of.tell(&r, d, want.ids)
		for _, fused := range []bool{false, true} {
			if fused && d.Name() != "dflash" {
				continue // what the others draft is read, or little of a graph
			}
			r.Speculation = engine.Speculation{Drafter: d.Name(), Depth: &c.depth, Rollback: c.rollback, Fused: fused}
			what := fmt.Sprintf("%s, %s, fused %v", c, d.Name(), fused)
			e := l.engine(nil, of.drafters...)
			got := l.sayOn(e, r, 0)
			e.Close()
			n, a := bits(got.logits, want.logits)
			differ, all = differ+n, all+a
			if n > 0 || !slices.Equal(got.ids, want.ids) || got.text != want.text {
				l.t.Errorf("%s: %d of %d logits differ; ids %v, want %v", what, n, a, got.ids, want.ids)
			}
			if st := got.stats; st.Drafter != d.Name() || st.Accepted == 0 || st.Accepted == st.Drafted {
				l.t.Errorf("%s: of %d drafts by %q %d stood; some are to, and some not (%s)", what, st.Drafted, st.Drafter, st.Accepted, st.NoDrafter)
			}
		}
	}
	return differ, all
}
