package models_test

import (
	"context"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// A witness is a model that keeps the logits of every row. It may have another end-of-sequence
// token.
type witness struct {
	lm.Model
	eos    []int32
	end    int // position after the last row of the last forward
	logits map[int]*mlx.Array
}

func (w *witness) Config() lm.Config {
	c := w.Model.Config()
	c.EOS = w.eos
	return c
}

func (w *witness) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	w.end = b[0].Pos + b[0].N
	return w.Model.Forward(s, b, taps)
}

// Unembed keeps the rows. A row that is computed again replaces the first one, which followed a
// wrong draft.
func (w *witness) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := w.Model.Unembed(s, hidden)
	n := logits.Dim(0)
	for i := range n {
		pos := w.end - n + i
		w.logits[pos].Free()
		w.logits[pos] = s.Keep(s.Slice(logits, 0, i, i+1))
	}
	return logits
}

// A lossless is one loaded model in one layout. It decodes without drafts and with them.
type lossless struct {
	t        *testing.T
	th       *mlx.Thread
	model    *witness
	bundle   *models.Bundle
	shape    string
	dir      string // its folder
	layout   cache.Layout
	kvBits   int // of an element in the caches of full attention; 0 = as it is
	drafter  *enginetest.Scripted
	ringless bool              // no cache starts over, so nothing waits for that
	length   int               // tokens of a long text
	steady   bool              // n-gram lookups may always be right, as the text may repeat itself
	known    map[string]oracle // by request
}

// An oracle is plain decoding's answer to a request, and the text that goes on after it.
type oracle struct {
	saying
	script []int32
}

// A saying is the answer to one request, with the logits of its tokens.
type saying struct {
	ids    []int32
	text   string
	finish engine.Finish
	logits [][]float32 // from which each id was drawn
	row    int         // of the last token in its round
	stats  engine.Stats
}

// say answers a request on an engine of its own. A positive cut cancels the request after so many
// tokens.
func (l *lossless) say(r engine.Request, cut int) saying {
	l.t.Helper()
	e := l.engine(nil)
	defer e.Close()
	return l.sayOn(e, r, cut)
}

// engine opens an engine with the given drafters, or with the scripted one. With a store it keeps
// checkpoints.
func (l *lossless) engine(store *checkpoint.Store, drafters ...draft.Drafter) *engine.Engine {
	if drafters == nil {
		drafters = []draft.Drafter{l.drafter}
	}
	o := engine.Options{Layout: l.layout, KVBits: l.kvBits, Chunk: 32, Drafters: drafters}
	if store != nil {
		o.Store, o.Checkpoints = store, 1<<30
	}
	return engine.New(l.th, l.model, l.bundle.Tokenizer, o)
}

// sayOn answers a request on e, as say does.
func (l *lossless) sayOn(e *engine.Engine, r engine.Request, cut int) saying {
	l.t.Helper()
	l.model.logits = map[int]*mlx.Array{}
	var out saying
	r.Done = func(s engine.Stats) { out.stats = s }
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	next := 0 // row
	for tok, err := range e.Generate(ctx, r) {
		if err != nil && ctx.Err() == nil {
			l.t.Fatal(err)
		}
		if err != nil {
			break
		}
		out.ids = append(out.ids, tok.ID)
		out.text += tok.Text
		out.finish = tok.Finish
		if out.row, next = next, 0; tok.Draft {
			next = out.row + 1
		}
		if len(out.ids) == cut {
			cancel()
		}
	}
	if err := l.th.Do(context.Background(), func(s *mlx.Scope) error {
		var list []*mlx.Array
		for i := range out.ids {
			list = append(list, l.model.logits[len(r.Prompt)-1+i])
		}
		if list != nil {
			flat, err := mlx.Read[float32](s,
				s.Contiguous(s.AsType(s.Concat(0, list...), mlx.Float32)))
			if err != nil {
				return err
			}
			out.logits = slices.Collect(slices.Chunk(flat, len(flat)/len(list)))
		}
		for _, a := range l.model.logits {
			a.Free()
		}
		return nil
	}); err != nil {
		l.t.Fatal(err)
	}
	return out
}

// twoLayers makes a tiny model of two layers, because the bit tier's BLAS is slow. One has a window
// where the architecture has windows.
var twoLayers = map[string]any{
	"num_hidden_layers": 2, "sliding_window_pattern": 2,
	"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1,
}

func newLossless(t *testing.T, shape string, layout cache.Layout, fields map[string]any) *lossless {
	t.Helper()
	return openLosslessIn(t, enginetest.TinyModel(t, shape, fields), shape, layout)
}

// openLosslessIn loads the model in a folder, which errors call shape. Outside the bit tier, BLAS
// multiplies: bits depend on the number of rows, as on a GPU.
func openLosslessIn(t *testing.T, dir, shape string, layout cache.Layout) *lossless {
	t.Helper()
	th, err := mlx.NewThread(mlx.Options{CPU: true, BLAS: !enginetest.InBit()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := models.Load(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &lossless{
		t: t, th: th, bundle: b, shape: shape, dir: dir, layout: layout, length: 300,
		known:   map[string]oracle{},
		model:   &witness{Model: b.Model},
		drafter: &enginetest.Scripted{Vocab: b.Model.Config().VocabSize, Layers: []int{0, 1}},
	}
}

func (l *lossless) Close() {
	l.t.Helper()
	if err := l.bundle.Close(); err != nil {
		l.t.Error(err)
	}
	if err := l.th.Close(); err != nil {
		l.t.Error(err)
	}
}

// prompt returns n ids, other ones for each i.
func (l *lossless) prompt(n, i int) []int32 {
	ids, vocab := make([]int32, n), min(l.drafter.Vocab, 256)
	for j := range ids {
		ids[j] = int32((j*j*7 + j*(i+3)*11 + i*37) % vocab)
	}
	return ids
}

// plain answers a request without drafts, once for each name. It gives the drafter the text as its
// script.
func (l *lossless) plain(name string, r engine.Request, cut int) saying {
	o, ok := l.known[name]
	if !ok {
		r.Speculation = engine.Speculation{Drafter: engine.None}
		o.saying = l.say(r, cut)
		o.script = slices.Concat(r.Prompt, o.ids)
		if !r.IgnoreEOS || cut > 0 { // drafts go on after the end
			r.Stop, r.IgnoreEOS = nil, true
			r.MaxTokens = new(*r.MaxTokens + 20)
			o.script = slices.Concat(r.Prompt, l.say(r, 0).ids)
		}
		l.known[name] = o
	}
	l.drafter.Text = o.script
	return o.saying
}
