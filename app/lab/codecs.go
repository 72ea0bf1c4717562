package lab

import (
	"context"
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
)

// A codec packs rows of keys and values and unpacks them again, with a loss. The zero codec loses
// nothing.
type codec struct{ bits, group int }

// codecs lists what kvquant compares.
var codecs = []codec{{}, {8, 64}, {8, 32}, {4, 64}, {4, 32}}

// baseline is the codec that another one has to beat.
var baseline = codec{4, 64}

func (c codec) String() string {
	if c.bits == 0 {
		return armIdentity
	}
	return fmt.Sprintf("affine%d, groups of %d", c.bits, c.group)
}

// fits reports whether rows of dim elements can be packed.
func (c codec) fits(dim int) bool { return c.bits == 0 || dim%c.group == 0 }

// apply returns rows (1, KV, n, D) after packing and unpacking, and the bytes of the packed rows.
func (c codec) apply(s *mlx.Scope, x *mlx.Array) (lossy *mlx.Array, bytes int64) {
	if c.bits == 0 {
		return x, x.Bytes()
	}
	q := mlx.Quantization{GroupSize: c.group, Bits: c.bits, Mode: "affine"}
	packed, scales, biases := s.Quantize(x, q)
	return s.Dequantize(packed, scales, biases, q, x.Dtype()),
		packed.Bytes() + scales.Bytes() + biases.Bytes()
}

// A capture holds the keys and values of one prompt before norm and rotary embedding, recorded once
// in a clean forward. It owns the arrays.
type capture struct {
	thread *mlx.Thread
	shapes []lm.KVShape // the zero value where nothing is captured
	kept   []lm.KV
	rows   int
}

// newCapture records a prompt on the layers with these shapes. The caller frees it.
func newCapture(ctx context.Context, t *mlx.Thread, m lm.Model, shapes []lm.KVShape,
	ids []int32) (*capture, error) {
	c := &capture{thread: t, shapes: shapes, kept: make([]lm.KV, len(shapes)), rows: len(ids)}
	caches := cache.Stack(m.NewCaches(cache.Options{Rows: len(ids)}))
	defer restore.Release(t, caches)
	for at := 0; at < len(ids); at += cache.MaxChunk {
		chunk := ids[at:min(at+cache.MaxChunk, len(ids))]
		if err := t.Do(ctx, func(s *mlx.Scope) error {
			return c.record(s, m, caches, chunk, at)
		}); err != nil {
			c.free()
			return nil, err
		}
	}
	return c, nil
}

// record evaluates a chunk and appends its keys and values.
func (c *capture) record(s *mlx.Scope, m lm.Model, caches cache.Stack, chunk []int32,
	at int) error {
	n, record := len(chunk), make([]lm.KV, len(caches))
	m.Forward(s, lm.Batch{{Tokens: mlx.New(s, chunk, n), N: n, Pos: at, Caches: caches,
		Record: record}}, nil)
	arrays := caches.Arrays()
	joined := make([]lm.KV, len(c.kept))
	for i, shape := range c.shapes {
		if shape == (lm.KVShape{}) || s.Err() != nil {
			continue
		}
		joined[i] = record[i]
		if old := c.kept[i]; old.K != nil {
			joined[i] = lm.KV{K: s.Concat(2, old.K, record[i].K), V: s.Concat(2, old.V, record[i].V)}
		}
		arrays = append(arrays, joined[i].K, joined[i].V)
	}
	if err := s.Eval(arrays...); err != nil {
		return err
	}
	for i, kv := range joined {
		if kv.K == nil {
			continue
		}
		if old := c.kept[i]; old.K != nil {
			old.K.Free()
			old.V.Free()
		}
		c.kept[i] = lm.KV{K: s.Keep(kv.K), V: s.Keep(kv.V)}
	}
	return nil
}

// free releases the arrays.
func (c *capture) free() {
	// A closed thread has freed everything.
	_ = c.thread.Do(context.Background(), func(*mlx.Scope) error {
		for i, kv := range c.kept {
			if kv.K != nil {
				kv.K.Free()
				kv.V.Free()
			}
			c.kept[i] = lm.KV{}
		}
		return nil
	})
}

// A loss is the error of a codec on captured rows.
type loss struct {
	relMSE   float64 // energy of the error over energy of the rows
	perValue float64 // bits of a value, measured by the bytes of the packed arrays
}

// measure returns the loss of a codec over all captured rows.
func (c *capture) measure(ctx context.Context, k codec) (l loss, err error) {
	var bytes, values int64
	var off, energy float64
	for _, kv := range c.kept {
		if kv.K == nil {
			continue
		}
		err := c.thread.Do(ctx, func(s *mlx.Scope) error {
			var sums []*mlx.Array
			for _, x := range []*mlx.Array{kv.K, kv.V} {
				lossy, n := k.apply(s, x)
				bytes, values = bytes+n, values+int64(x.Size())
				d := s.Sub(s.AsType(lossy, mlx.Float32), s.AsType(x, mlx.Float32))
				sums = append(sums, energyOf(s, d), energyOf(s, x))
			}
			all := s.Concat(0, sums...)
			if err := s.Eval(all); err != nil {
				return err
			}
			v, err := mlx.Read[float32](s, all)
			if err == nil {
				off, energy = off+float64(v[0])+float64(v[2]), energy+float64(v[1])+float64(v[3])
			}
			return err
		})
		if err != nil {
			return l, err
		}
	}
	return loss{off / energy, 8 * float64(bytes) / float64(values)}, nil
}

// energyOf returns the sum of the squares, (1).
func energyOf(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	flat := s.Reshape(s.AsType(x, mlx.Float32), 1, x.Size())
	return s.Sum(s.Mul(flat, flat), -1, false)
}

// source returns a source that restores the captured rows after a codec. Rows beyond the prompt are
// zeros, and no query attends them as long as its answer is shorter than the window.
func (c *capture) source(k codec) restore.Source { return &lossySource{c, k} }

type lossySource struct {
	of    *capture
	codec codec
}

func (l *lossySource) KVShapes() []lm.KVShape { return l.of.shapes }

func (l *lossySource) NewCaches(cache.Options) []cache.Cache { return nil }

func (l *lossySource) KeysValues(s *mlx.Scope, b lm.Batch) []lm.KV {
	out := make([]lm.KV, len(l.of.kept))
	for i, kv := range l.of.kept {
		if kv.K == nil {
			continue
		}
		var keys, values []*mlx.Array
		for _, q := range b {
			keys = append(keys, l.rows(s, kv.K, q))
			values = append(values, l.rows(s, kv.V, q))
		}
		out[i] = lm.KV{K: s.Concat(2, keys...), V: s.Concat(2, values...)}
	}
	return out
}

// rows returns the rows of a sequence's positions.
func (l *lossySource) rows(s *mlx.Scope, x *mlx.Array, q lm.Sequence) *mlx.Array {
	from, to := min(q.Pos, l.of.rows), min(q.Pos+q.N, l.of.rows)
	var parts []*mlx.Array
	if from < to {
		lossy, _ := l.codec.apply(s, s.Slice(x, 2, from, to))
		parts = append(parts, lossy)
	}
	if missing := q.N - (to - from); missing > 0 {
		zeros := mlx.New(s, make([]float32, x.Dim(1)*missing*x.Dim(3)), 1, x.Dim(1), missing, x.Dim(3))
		parts = append(parts, s.AsType(zeros, x.Dtype()))
	}
	return s.Concat(2, parts...)
}
