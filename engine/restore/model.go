package restore

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Options say how a target's layers are bounded.
type Options struct {
	Sink, Window int   // window rows, see [cache.Bounds]
	Exact        []int // numbers of the caches that keep every row

	// Source restores the rows that are not kept. Nil restores nothing: then a bounded layer attends
	// its sink and its window alone.
	Source Source
}

// A Model is a target with bounded layers. It implements [lm.Model] and owns neither the target nor
// the source, which must outlive it.
//
// Each sequence has the target's caches, then a bank for each bounded layer, then the caches of the
// source. All of them are at the same position.
type Model struct {
	target  lm.Model
	source  Source
	count   int             // caches of the target
	bounded []int           // numbers of the bounded caches
	bounds  []*cache.Bounds // by cache of the target; nil = exact

	rows, attended atomic.Int64 // see Counts
}

// Counts say what all forwards so far have done.
type Counts struct {
	Restored int64 // rows that a bank took in, of all bounded layers
	Attended int64 // queries that attended restored rows, of all layers
}

// Counts may be called from any goroutine.
func (m *Model) Counts() Counts { return Counts{m.rows.Load(), m.attended.Load()} }

// New bounds the layers of a target. Layers whose own window is no longer than Options.Window, and
// layers without keys and values, stay as they are.
func New(target lm.Model, o Options) (*Model, error) {
	kept := shapes(target)
	if !slices.ContainsFunc(kept, func(k lm.KVShape) bool { return k != (lm.KVShape{}) }) {
		return nil, errors.New("the attention of this model keeps no keys and values that could be bounded: serve it with another layout of caches")
	}
	like := target.NewCaches(cache.Options{})
	m := &Model{target: target, source: o.Source, count: len(like),
		bounds: make([]*cache.Bounds, len(like))}
	for i, shape := range kept {
		b := cache.Bounds{Sink: o.Sink, Window: o.Window, Reach: shape.Window}
		if err := b.Check(); err != nil {
			return nil, err
		}
		if shape == (lm.KVShape{}) || slices.Contains(o.Exact, i) || !b.Divides() {
			continue
		}
		m.bounds[i] = &b
		m.bounded = append(m.bounded, i)
	}
	if len(m.bounded) == 0 {
		return nil, errors.New("no layer of this model is left to bound: all are exact, or look back no further than the window")
	}
	return m, m.fits(kept)
}

// fits refuses a source that makes other rows than the bounded layers keep.
func (m *Model) fits(kept []lm.KVShape) error {
	if m.source == nil {
		return nil
	}
	made := m.source.KVShapes()
	for _, i := range m.bounded {
		if i >= len(made) || made[i].Heads != kept[i].Heads || made[i].Dim != kept[i].Dim {
			return fmt.Errorf("layer %d is bounded, and nothing restores its rows: list it among the exact layers",
				i)
		}
	}
	return nil
}

// Bounded returns the numbers of the caches whose layers are bounded, ascending.
func (m *Model) Bounded() []int { return slices.Clone(m.bounded) }

// Config implements lm.Model.
func (m *Model) Config() lm.Config { return m.target.Config() }

// Unembed implements lm.Model.
func (m *Model) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	return m.target.Unembed(s, hidden)
}

// Free implements lm.Model. The weights are the target's and the source's, and stay.
func (m *Model) Free() {}

// NewCaches implements lm.Model.
func (m *Model) NewCaches(opts cache.Options) []cache.Cache {
	list := m.target.NewCaches(opts)
	var banks []cache.Cache
	for _, i := range m.bounded {
		list[i] = cache.NewSinkWindow(*m.bounds[i])
		if m.source != nil {
			banks = append(banks, cache.NewBank(opts, *m.bounds[i]))
		}
	}
	list = append(list, banks...)
	if m.source != nil {
		opts.Bits = 0 // the source makes its own restored rows, which are not packed
		list = append(list, m.source.NewCaches(opts)...)
	}
	return list
}

// parts divides the caches of a sequence.
func (m *Model) parts(caches []cache.Cache) (target, banks, source []cache.Cache) {
	if m.source == nil {
		return caches, nil, nil
	}
	n := m.count + len(m.bounded)
	return caches[:m.count], caches[m.count:n], caches[n:]
}

// Forward implements lm.Model. The source reads the tokens first, then the target with what the
// source has made of them.
func (m *Model) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	restored := m.restored(s, b)
	on := make(lm.Batch, len(b))
	at := 0
	for i, q := range b {
		target, banks, _ := m.parts(q.Caches)
		q.Caches, q.Bounded = target, make([]*lm.Bounded, m.count)
		for j, l := range m.bounded {
			q.Bounded[l] = &lm.Bounded{}
			if restored != nil {
				rows := func(x *mlx.Array) *mlx.Array { return s.Slice(x, 2, at, at+q.N) }
				q.Bounded[l].KV = lm.KV{K: rows(restored[l].K), V: rows(restored[l].V)}
				q.Bounded[l].Bank = banks[j].(*cache.Bank)
			}
		}
		at += q.N
		on[i] = q
	}
	var out lm.Output
	// No pauses: layers that share keys attend what an earlier one has made of the bounds.
	s.WithPause(nil, func() error { out = m.target.Forward(s, on, taps); return nil })
	for _, q := range on {
		for _, l := range m.bounded {
			m.rows.Add(int64(q.Bounded[l].Restored))
			m.attended.Add(int64(q.Bounded[l].Attended))
		}
	}
	return out
}

// restored returns keys and values for the rows of a batch, nil if nothing is restored.
func (m *Model) restored(s *mlx.Scope, b lm.Batch) []lm.KV {
	if m.source == nil {
		return nil
	}
	on := make(lm.Batch, len(b))
	for i, q := range b {
		_, _, q.Caches = m.parts(q.Caches)
		on[i] = q
	}
	made := m.source.KeysValues(s, on)
	if s.Err() != nil {
		return nil
	}
	return made
}

// Bytes implements lm.BoundedModel.
func (m *Model) Bytes(caches []cache.Cache) (sum lm.KVBytes) {
	target, banks, source := m.parts(caches)
	for i, c := range target {
		if m.bounds[i] != nil {
			sum.Window += c.Bytes()
		} else {
			sum.Exact += c.Bytes()
		}
	}
	for _, c := range banks {
		sum.Restored += c.Bytes()
	}
	for _, c := range source {
		sum.Source += c.Bytes()
	}
	return sum
}
