package enginetest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// Rows have grouped queries.
const (
	kvHeads = 2
	heads   = 4
)

// A cacheRow is what a cache gets for one position.
type cacheRow struct{ k, v cacheHeads }

// cacheHeads are the keys or the values of one position.
type cacheHeads struct {
	written  []float32 // (KV, D)
	attended []float32 // likewise: what a query attends
	held     []uint32  // (KV, words): what the cache holds, by its bits
}

type cacheTest struct {
	t        *testing.T
	th       *mlx.Thread
	kind     CacheKind
	rng      *rand.Rand
	start    int64 // active memory before
	keyDim   int   // elements of a key
	valueDim int   // and of a value
}

func newCacheTest(t *testing.T, kind CacheKind) *cacheTest {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &cacheTest{t: t, th: th, kind: kind, rng: rand.New(rand.NewPCG(7, 7))}
	c.keyDim, c.valueDim = kind.dims()
	c.do(func(s *mlx.Scope) error { return s.Eval(s.Zeros(mlx.Float32, 1)) })
	c.start = c.active()
	t.Cleanup(func() {
		if after := c.active(); !t.Failed() && after != c.start {
			t.Errorf("active memory went from %d to %d bytes", c.start, after)
		}
		th.Close()
	})
	return c
}

func (c *cacheTest) do(fn func(*mlx.Scope) error) {
	c.t.Helper()
	if err := c.th.Do(c.t.Context(), fn); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cacheTest) active() int64 { return c.th.Memory().Active }

func (c *cacheTest) mustPanic(what string, fn func()) {
	c.t.Helper()
	defer func() {
		if recover() == nil {
			c.t.Errorf("%s did not panic", what)
		}
	}()
	fn()
}

// maxRows returns the rows of the largest update worth testing.
func (c *cacheTest) maxRows() int {
	if c.kind.MaxRows > 0 {
		return c.kind.MaxRows
	}
	return 70
}

// horizon returns a number of rows after which a ring has wrapped.
func (c *cacheTest) horizon() int { return c.kind.Sink + c.kind.Window + c.maxRows() }

func (c *cacheTest) floats(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(c.rng.NormFloat64())
	}
	return out
}

func (c *cacheTest) newRows(n int) []cacheRow {
	keys, values := c.newHeads(n, c.keyDim), c.newHeads(n, c.valueDim)
	rows := make([]cacheRow, n)
	for i := range rows {
		rows[i] = cacheRow{keys[i], values[i]}
	}
	return rows
}

// newHeads returns the keys or the values of n positions.
func (c *cacheTest) newHeads(n, dim int) []cacheHeads {
	list := make([]cacheHeads, n)
	for i := range list {
		x := c.floats(kvHeads * dim)
		list[i] = cacheHeads{x, x, nil}
		if c.kind.Bits == 0 {
			for _, v := range x {
				list[i].held = append(list[i].held, math.Float32bits(v))
			}
		}
	}
	if c.kind.Bits > 0 {
		c.quantize(list, dim)
	}
	return list
}

// heldDims returns the words that a cache holds of a key and of a value.
func (c *cacheTest) heldDims() (key, value int) {
	if c.kind.Bits == 0 {
		return c.keyDim, c.valueDim
	}
	return cache.QuantizedBytes(c.keyDim, c.kind.Bits, 4) / 4,
		cache.QuantizedBytes(c.valueDim, c.kind.Bits, 4) / 4
}

// rowBytes returns the bytes of a row that a cache holds.
func (c *cacheTest) rowBytes() int64 {
	key, value := c.heldDims()
	return int64(kvHeads * (key + value) * 4)
}

// queries returns (H, n, D).
func (c *cacheTest) queries(n int) []float32 { return c.floats(heads * n * c.keyDim) }

// A liveCache is a cache and the rows it should hold.
type liveCache struct {
	c     *cacheTest
	cache cache.Attention
	rows  []cacheRow
}

func (c *cacheTest) open() *liveCache { return &liveCache{c: c, cache: c.kind.New()} }

func (l *liveCache) free() { l.c.do(func(s *mlx.Scope) error { l.cache.Free(s); return nil }) }

func (l *liveCache) update(n int) { l.c.t.Helper(); l.append(l.c.newRows(n)) }

// append writes rows and compares what their queries attend with the oracle.
func (l *liveCache) append(rows []cacheRow) {
	l.c.t.Helper()
	if len(rows) == 0 {
		return
	}
	n, q := len(rows), l.c.queries(len(rows))
	pos := len(l.rows)
	got := l.attend(rows, q)
	for i := range n {
		for h := range heads {
			want := l.oracle(q[(h*n+i)*l.c.keyDim:][:l.c.keyDim], h*kvHeads/heads, pos+i)
			for d, w := range want {
				if g := float64(got[(h*n+i)*l.c.valueDim+d]); math.Abs(g-w) > 1e-5 {
					l.c.t.Fatalf("position %d of an update of %d rows at %d, head %d: got %g, want %g",
						pos+i, n, pos, h, g, w)
				}
			}
		}
	}
}

// attend writes rows and returns the attention of queries q (H, n, D) at their
// positions, (H, n, Dv).
func (l *liveCache) attend(rows []cacheRow, q []float32) []float32 {
	l.c.t.Helper()
	n, keyDim, valueDim := len(rows), l.c.keyDim, l.c.valueDim
	var k, v []float32
	for h := range kvHeads {
		for _, r := range rows {
			k = append(k, r.k.written[h*keyDim:][:keyDim]...)
			v = append(v, r.v.written[h*valueDim:][:valueDim]...)
		}
	}
	var out, again []float32 // again: through the view that other layers attend
	l.c.do(func(s *mlx.Scope) (err error) {
		queries := mlx.New(s, q, 1, heads, n, keyDim)
		attend := func(view cache.View) *mlx.Array {
			return s.Contiguous(Attend(s, queries, view, float32(1/math.Sqrt(float64(keyDim)))))
		}
		a := attend(l.cache.Update(s, mlx.New(s, k, 1, kvHeads, n, keyDim),
			mlx.New(s, v, 1, kvHeads, n, valueDim)))
		b := attend(l.cache.View(s, n))
		if err := s.Eval(append(l.cache.Arrays(), a, b)...); err != nil {
			return err
		}
		if out, err = mlx.Read[float32](s, a); err == nil {
			again, err = mlx.Read[float32](s, b)
		}
		return err
	})
	if !slices.Equal(out, again) {
		l.c.t.Fatalf("the view of %d rows is not that of their update", n)
	}
	l.rows = append(l.rows[:len(l.rows):len(l.rows)], rows...)
	if got := l.cache.Offset(); got != len(l.rows) {
		l.c.t.Fatalf("offset %d after %d rows", got, len(l.rows))
	}
	return out
}

// Attend is the attention of queries q (1, H, n, D) over a view.
func Attend(s *mlx.Scope, q *mlx.Array, view cache.View, scale float32) *mlx.Array {
	view = view.Dequantize(s)
	if view.Causal {
		return s.CausalAttention(q, view.K, view.V, scale, nil)
	}
	return s.Attention(q, view.K, view.V, scale, view.Mask, nil)
}

// oracle is the attention of one query at a position, over kv head h.
func (l *liveCache) oracle(q []float32, h, pos int) []float64 {
	sum, out := 0.0, make([]float64, l.c.valueDim)
	for _, r := range l.attended(pos) {
		dot := 0.0
		for d, x := range r.k.attended[h*l.c.keyDim:][:l.c.keyDim] {
			dot += float64(x) * float64(q[d])
		}
		weight := math.Exp(dot / math.Sqrt(float64(l.c.keyDim)))
		sum += weight
		for d, x := range r.v.attended[h*l.c.valueDim:][:l.c.valueDim] {
			out[d] += weight * float64(x)
		}
	}
	for d := range out {
		out[d] /= sum
	}
	return out
}

// attended returns the rows that the query at a position attends.
func (l *liveCache) attended(pos int) []cacheRow {
	w, sink := l.c.kind.Window, l.c.kind.Sink
	if w == 0 || pos < sink+w {
		return l.rows[:pos+1]
	}
	return slices.Concat(l.rows[:sink], l.rows[pos-w+1:pos+1])
}

func (l *liveCache) trim(n int) {
	l.c.t.Helper()
	if err := l.cache.Trim(n); err != nil {
		l.c.t.Fatal(err)
	}
	l.rows = l.rows[:len(l.rows)-n]
}

func (l *liveCache) restore(ch cacheChain, to int) {
	l.c.t.Helper()
	snapshots := make([]*cache.Snapshot, len(ch))
	for i, p := range ch {
		snapshots[i] = p.snap
	}
	l.c.do(func(s *mlx.Scope) error {
		if err := l.cache.Restore(s, snapshots, to); err != nil {
			return err
		}
		return s.Eval(l.cache.Arrays()...)
	})
	if got := l.cache.Offset(); got != to {
		l.c.t.Fatalf("offset %d after a restore to %d", got, to)
	}
	l.rows = ch[len(ch)-1].rows[:to]
	now := l.snapshot(0)
	now.check(l.c)
	now.release(l.c)
}

// A heldRows is a snapshot and the rows of its sequence when it was taken.
type heldRows struct {
	snap     *cache.Snapshot
	rows     []cacheRow
	observed int64
}

func (l *liveCache) hold(p *cache.Snapshot) *heldRows { return hold(p, l.rows) }

// hold is what a snapshot has to hold of rows.
func hold(p *cache.Snapshot, rows []cacheRow) *heldRows {
	h := &heldRows{snap: p, rows: rows[:p.To()]}
	p.Observe(func(n int64) { h.observed += n })
	return h
}

func (l *liveCache) snapshot(from int) (h *heldRows) {
	l.c.t.Helper()
	l.c.do(func(s *mlx.Scope) error {
		p, err := l.cache.Snapshot(s, from)
		if err == nil {
			h = l.hold(p)
		}
		return err
	})
	return h
}

func (l *liveCache) captured() (ch cacheChain) {
	for _, p := range l.cache.Captured() {
		ch = append(ch, l.hold(p))
	}
	return ch
}

// captureChain snapshots what there is and schedules captures across the
// next update.
func (l *liveCache) captureChain() cacheChain {
	l.c.t.Helper()
	base := l.snapshot(0)
	n := min(l.c.maxRows(), 12)
	if err := l.cache.Schedule(base.to(), base.to()+1, base.to()+n/2, base.to()+n); err != nil {
		l.c.t.Fatal(err)
	}
	l.update(n)
	// The last capture is at the update's own end.
	captured := l.captured()
	if len(captured) != 3 {
		l.c.t.Fatalf("%d captures of 3 scheduled", len(captured))
	}
	return append(cacheChain{base}, captured...)
}

func (h *heldRows) to() int { return h.snap.To() }

func (h *heldRows) release(c *cacheTest) {
	c.do(func(*mlx.Scope) error { h.snap.Release(); return nil })
}

// read returns the words held, those of keys and then those of values.
func (h *heldRows) read(c *cacheTest) (out [2][]uint32) {
	c.t.Helper()
	c.do(func(s *mlx.Scope) error {
		k, v := h.snap.Rows(s)
		for i, a := range []*mlx.Array{k, v} {
			if a == nil {
				continue
			}
			var err error
			words := s.View(s.Contiguous(a), mlx.Uint32)
			if out[i], err = mlx.Read[uint32](s, words); err != nil {
				return err
			}
		}
		return nil
	})
	return out
}

// check compares the rows held with those written, and the bytes with what
// was observed.
func (h *heldRows) check(c *cacheTest) {
	c.t.Helper()
	var want [2][]uint32
	key, value := c.heldDims()
	for head := range kvHeads {
		for _, r := range h.captured(c.kind.Sink) {
			want[0] = append(want[0], r.k.held[head*key:][:key]...)
			want[1] = append(want[1], r.v.held[head*value:][:value]...)
		}
	}
	c.sameRows("held", h.read(c), want)
	if got := h.snap.Bytes(); got != h.observed || h.snap.Lazy() && got != 0 {
		c.t.Fatalf("snapshot of %d to %d: %d bytes, observed %d, lazy %v",
			h.snap.From(), h.to(), got, h.observed, h.snap.Lazy())
	}
}

// captured returns the rows that a snapshot holds. Those of a sink come first.
func (h *heldRows) captured(sink int) []cacheRow {
	from := h.snap.From()
	if from == 0 {
		sink = 0
	}
	return slices.Concat(h.rows[:sink], h.rows[from+sink:h.to()])
}

func (c *cacheTest) sameRows(what string, got, want [2][]uint32) {
	c.t.Helper()
	for i, name := range []string{"keys", "values"} {
		if len(got[i]) != len(want[i]) {
			c.t.Fatalf("%s %s: %d words, want %d", what, name, len(got[i]), len(want[i]))
		}
		for j := range got[i] {
			if got[i][j] != want[i][j] {
				c.t.Fatalf("%s %s differ at %d: %#x, want %#x", what, name, j, got[i][j], want[i][j])
			}
		}
	}
}

// A cacheChain is a list of adjacent snapshots.
type cacheChain []*heldRows

func (ch cacheChain) release(c *cacheTest) {
	for _, h := range ch {
		h.release(c)
	}
}

func (ch cacheChain) check(c *cacheTest) {
	c.t.Helper()
	for _, h := range ch {
		h.check(c)
	}
}

// target returns a position to restore to.
func (ch cacheChain) target(c *cacheTest) int {
	end := ch[len(ch)-1].to()
	if c.kind.New().NeedsExact() {
		return end
	}
	return c.rng.IntN(end + 1)
}
