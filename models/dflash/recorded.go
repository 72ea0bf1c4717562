package dflash

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// A Parity compares a drafter's forward with the guesses of a reference, which were recorded.
type Parity struct {
	Case         string
	Blocks       int
	Rows, Equal  int     // guesses, and how many are the reference's
	Off, Largest float64 // the largest difference of a logit, and the largest logit
}

// DraftRecorded drafts all recorded cases of a folder in a type. build/fixtures records them: each
// case has config.json, fixture.json and blocks.safetensors, and shares weights with others.
func DraftRecorded(ctx context.Context, t *mlx.Thread, recorded fs.FS,
	dtype mlx.Dtype) (list []Parity, err error) {
	cases, err := fs.Glob(recorded, "*/fixture.json")
	if err == nil && len(cases) == 0 {
		err = errors.New("the folder has no recorded cases")
	}
	for _, name := range cases {
		if err != nil {
			break
		}
		var p Parity
		p, err = caseParity(ctx, t, recorded, path.Dir(name), dtype)
		list = append(list, p)
	}
	return list, err
}

// caseParity drafts one recorded case.
func caseParity(ctx context.Context, t *mlx.Thread, recorded fs.FS, name string,
	dtype mlx.Dtype) (p Parity, err error) {
	p.Case = name
	var fixture struct {
		Shared   string   `json:"shared"`
		Known    []int32  `json:"known"` // after each anchor
		Settings Settings `json:"settings"`
		From     int      `json:"from"`
		Scale    float64  `json:"embed_scale"`
	}
	text, err := fs.ReadFile(recorded, path.Join(name, "fixture.json"))
	if err == nil {
		err = json.Unmarshal(text, &fixture)
	}
	if err != nil {
		return p, err
	}
	config, err := fs.ReadFile(recorded, path.Join(name, "config.json"))
	if err != nil {
		return p, err
	}
	files := map[string]*mlx.Tensors{}
	for _, file := range []string{path.Join(fixture.Shared, "model.safetensors"),
		path.Join(fixture.Shared, "target.safetensors"), path.Join(name, "blocks.safetensors")} {
		data, err := fs.ReadFile(recorded, file)
		if err != nil {
			return p, err
		}
		if files[path.Base(file)], err = mlx.OpenTensors(bytes.NewReader(data),
			int64(len(data))); err != nil {
			return p, fmt.Errorf("%s: %w", file, err)
		}
	}
	err = t.Do(ctx, func(s *mlx.Scope) error {
		on, err := newRecordedTarget(s, files["target.safetensors"], config, fixture.Scale, dtype)
		if err != nil {
			return err
		}
		defer on.free()
		w := nn.NewWeights(s, files["model.safetensors"], nil)
		w.Dtype = dtype
		m, err := New(w, config, on, fixture.Settings)
		if err = cmp.Or(err, w.Err()); err != nil {
			w.Free()
			return err
		}
		defer m.Free()
		blocks, err := readBlocks(s, files["blocks.safetensors"], on.config.VocabSize, on.taps.Dim(0))
		if err != nil {
			return err
		}
		return p.draft(s, m, on, fixture.Known, fixture.From, blocks, recordedWay{Chunk: cache.MaxBlock})
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return p, err
}

// A recordedBlock is what the reference guessed after Context rows of context.
type recordedBlock struct {
	Context, N int
	Anchor     int32
	Logits     []float32 // (n V)
	Drafts     []int32   // (n)
}

// readBlocks reads the blocks of a case. Its target has vocab tokens and taps rows of taps. Contexts
// grow from block to block, as those of one request do.
func readBlocks(s *mlx.Scope, file *mlx.Tensors, vocab, taps int) (list []recordedBlock, err error) {
	ints := map[string][]int32{}
	for _, name := range []string{"context", "anchor", "n", "drafts"} {
		if ints[name], err = mlx.Read[int32](s, file.Load(s, name)); err != nil {
			return nil, err
		}
	}
	logits, err := mlx.Read[float32](s, file.Load(s, "logits"))
	if err != nil {
		return nil, err
	}
	contexts, anchors, drafts := ints["context"], ints["anchor"], ints["drafts"]
	rows := 0
	for _, n := range ints["n"] {
		if n < 1 || n > cache.MaxBlock {
			return nil, fmt.Errorf("a block has %d rows, not 1 to %d", n, cache.MaxBlock)
		}
		rows += int(n)
	}
	if n := len(ints["n"]); len(contexts) != n || len(anchors) != n || len(drafts) != rows ||
		len(logits) != rows*vocab {
		return nil, fmt.Errorf("%d blocks of %d rows by %d tokens have %d contexts, %d anchors, %d drafts and %d logits",
			n, rows, vocab, len(contexts), len(anchors), len(drafts), len(logits))
	}
	before := int32(0)
	for i, n := range ints["n"] {
		switch to, anchor := contexts[i], anchors[i]; {
		case to < before || int(to) > taps:
			return nil, fmt.Errorf("a block has %d rows of context, after one with %d; %d are recorded", to,
				before, taps)
		case anchor < 0 || int(anchor) >= vocab:
			return nil, fmt.Errorf("a block begins with token %d, which is not one of %d", anchor, vocab)
		}
		before = contexts[i]
		list = append(list, recordedBlock{int(contexts[i]), int(n), anchors[i],
			logits[:int(n)*vocab], drafts[:n]})
		logits, drafts = logits[int(n)*vocab:], drafts[n:]
	}
	return list, nil
}

// A recordedWay is how a request comes to its context.
type recordedWay struct {
	Caches cache.Options
	Chunk  int  // rows of context that are read at once
	Fresh  bool // caches of their own for every block; else one request that goes on
	More   int  // rows of the context that come with the block, at most
}

// draft drafts all blocks of a case. known are the tokens after each anchor, and from is the position of
// the first row of context.
func (p *Parity) draft(s *mlx.Scope, m *Model, on *recordedTarget, known []int32, from int,
	blocks []recordedBlock, w recordedWay) error {
	caches := cache.Stack(m.NewCaches(w.Caches))
	defer func() { caches.Free(s) }()
	layers := len(m.Taps())
	for _, b := range blocks {
		if w.Fresh {
			caches.Free(s)
			caches = m.NewCaches(w.Caches)
		}
		alone := b.Context - min(w.More, b.Context-caches[0].Offset())
		for at := caches[0].Offset(); at < alone; at = caches[0].Offset() {
			m.Context(s, on.TapsOf(s, layers, at, min(at+w.Chunk, alone)), from+at, caches)
			if err := s.Eval(caches.Arrays()...); err != nil {
				return err
			}
		}
		var taps []*mlx.Array
		if alone < b.Context {
			taps = on.TapsOf(s, layers, alone, b.Context)
		}
		begin := append([]int32{b.Anchor}, known...)
		hidden := m.Forward(s, taps, mlx.New(s, begin, len(begin)), b.N, from+b.Context, caches)
		logits, drafts, err := m.guesses(s, hidden, begin[len(begin)-1], caches.Arrays()...)
		if err != nil {
			return err
		}
		for i, c := range caches {
			if c.Offset() != b.Context {
				return fmt.Errorf("after a block the cache of layer %d has %d rows, and the context %d",
					i, c.Offset(), b.Context)
			}
		}
		if err := p.compare(logits, drafts, b); err != nil {
			return err
		}
	}
	return nil
}

// compare adds a block. It refuses logits that are no finite numbers: no difference can be told.
func (p *Parity) compare(got []float32, drafts []int32, want recordedBlock) error {
	p.Blocks++
	for i, v := range want.Logits {
		d := math.Abs(float64(got[i]) - float64(v))
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return fmt.Errorf("a logit of block %d is %g, and the reference has %g", p.Blocks, got[i], v)
		}
		p.Off, p.Largest = max(p.Off, d), max(p.Largest, math.Abs(float64(v)))
	}
	for i, id := range want.Drafts {
		p.Rows++
		if drafts[i] == id {
			p.Equal++
		}
	}
	return nil
}

// Add sums up the cases of another parity.
func (p *Parity) Add(o Parity) {
	p.Blocks, p.Rows, p.Equal = p.Blocks+o.Blocks, p.Rows+o.Rows, p.Equal+o.Equal
	p.Off, p.Largest = max(p.Off, o.Off), max(p.Largest, o.Largest)
}

// guesses returns the logits (n V) of what Forward returned, and the tokens (n) that they say after
// last. A row says its likeliest token, or the best of its candidates if there is a selector. keep is
// evaluated with them.
func (m *Model) guesses(s *mlx.Scope, hidden *mlx.Array, last int32,
	keep ...*mlx.Array) (logits []float32, drafts []int32, err error) {
	x := s.AsType(m.Unembed(s, hidden), mlx.Float32)
	if err := s.Eval(append(keep, hidden, x)...); err != nil {
		return nil, nil, err
	}
	if logits, err = mlx.Read[float32](s, x); err != nil {
		return nil, nil, err
	}
	if m.Markov() {
		return m.corrected(s, x, last)
	}
	n, vocab, k := x.Dim(0), x.Dim(1), m.Candidates()
	rows := slices.Collect(slices.Chunk(logits, vocab))
	if k == 0 {
		for _, row := range rows {
			drafts = append(drafts, likeliest(row, m.MaskToken()))
		}
		return logits, drafts, nil
	}
	var ids []int32
	for _, row := range rows {
		ids = append(ids, candidates(row, m.MaskToken(), k)...)
	}
	before := append(slices.Repeat([]int32{last}, k), ids[:(n-1)*k]...)
	edges, err := mlx.Read[float32](s, m.Edges(s, hidden, mlx.New(s, before, n, k),
		mlx.New(s, ids, n, k)))
	if err != nil {
		return nil, nil, err
	}
	at := 0 // of the candidate chosen last
	for i, row := range rows {
		scores := edges[(i*k+at)*k:][:k]
		best := ids[i*k:][:k]
		for c, id := range best {
			scores[c] += row[id]
		}
		at = int(likeliest(scores, -1))
		drafts = append(drafts, best[at])
	}
	return logits, drafts, nil
}

// corrected returns logits and tokens as guesses does, row by row: each is corrected by the token
// that the row before guessed.
func (m *Model) corrected(s *mlx.Scope, x *mlx.Array, last int32) (logits []float32, drafts []int32,
	err error) {
	for _, row := range s.Split(x, x.Dim(0), 0) {
		add := s.AsType(m.Correction(s, mlx.New(s, []int32{last}, 1)), mlx.Float32)
		values, err := mlx.Read[float32](s, s.Add(row, add))
		if err != nil {
			return nil, nil, err
		}
		last = likeliest(values, m.MaskToken())
		logits, drafts = append(logits, values...), append(drafts, last)
	}
	return logits, drafts, nil
}

// candidates returns the k likeliest tokens of a row of logits, the mask token left out.
func candidates(row []float32, mask int32, k int) []int32 {
	ids := make([]int32, 0, len(row))
	for id := range row {
		if int32(id) != mask {
			ids = append(ids, int32(id))
		}
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Compare(row[b], row[a]) })
	return ids[:k]
}

// likeliest returns the token that a row of logits guesses, the mask token left out.
func likeliest(row []float32, mask int32) int32 {
	best := int32(-1)
	for i, v := range row {
		if int32(i) != mask && (best < 0 || v > row[best]) {
			best = int32(i)
		}
	}
	return best
}

// A recordedTarget stands for the model that is drafted for.
type recordedTarget struct {
	config                lm.Config
	scale                 float64
	embedding, head, taps *mlx.Array // (V, H), (V, H), (positions, taps H)
}

// newRecordedTarget reads the target for a drafter with such a config.json. The caller frees it.
func newRecordedTarget(s *mlx.Scope, files *mlx.Tensors, config []byte, scale float64,
	dtype mlx.Dtype) (*recordedTarget, error) {
	r := &recordedTarget{scale: scale}
	for name, to := range map[string]**mlx.Array{"embedding": &r.embedding, "head": &r.head,
		"taps": &r.taps} {
		a := files.Load(s, name)
		if shape := a.Shape(); s.Err() == nil && len(shape) != 2 {
			s.Fail(fmt.Errorf("%s of the target is %v, not a matrix", name, shape))
		}
		*to = s.Keep(s.AsType(a, dtype))
	}
	if err := s.Err(); err != nil {
		r.free()
		return nil, err
	}
	if e, h := r.embedding.Shape(), r.head.Shape(); !slices.Equal(e, h) {
		r.free()
		return nil, fmt.Errorf("the target's embedding is %v, and its head is %v", e, h)
	}
	var c struct {
		Layers int `json:"num_target_layers"`
		Nested struct {
			Layers int `json:"num_target_layers"`
		} `json:"dflash_config"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		r.free()
		return nil, err
	}
	const recordedLayers = 6 // of the case whose config does not say
	r.config = lm.Config{VocabSize: r.embedding.Dim(0), HiddenSize: r.embedding.Dim(1),
		Layers: cmp.Or(c.Layers, c.Nested.Layers, recordedLayers), Dtype: dtype}
	return r, nil
}

func (r *recordedTarget) free() {
	for _, a := range []*mlx.Array{r.embedding, r.head, r.taps} {
		a.Free()
	}
}

// Config implements what a block network asks of its target.
func (r *recordedTarget) Config() lm.Config { return r.config }

// Embed implements lm.Embedder.
func (r *recordedTarget) Embed(s *mlx.Scope, tokens *mlx.Array) *mlx.Array {
	return s.Take(r.embedding, tokens, 0)
}

// EmbedScale implements lm.Embedder.
func (r *recordedTarget) EmbedScale() float64 { return r.scale }

// Unembed does what a model's does.
func (r *recordedTarget) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	return r.Head(s, hidden)
}

// Head implements lm.Embedder.
func (r *recordedTarget) Head(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	return s.MatMul(hidden, s.Transpose(r.head, 1, 0))
}

// TapsOf returns the taps of positions [from, to) by layer.
func (r *recordedTarget) TapsOf(s *mlx.Scope, layers, from, to int) []*mlx.Array {
	return s.Split(s.Slice(r.taps, 0, from, to), layers, -1)
}
