package gguf

import (
	"strings"
)

// A headOrder is the order of the value heads of a gated delta net. Makers write the heads of one
// key head side by side. llama.cpp's converter has the first of each key head, then the second of
// each.
type headOrder struct {
	skip   int // rows before the first value head
	keys   int // key heads
	values int // value heads
	dim    int // rows of a value head
}

// head returns the place of a value head in the file.
func (o *headOrder) head(h int) int {
	share := o.values / o.keys
	return h%share*o.keys + h/share
}

// from returns the row of the file that becomes row i, and how many rows after it follow it there.
func (o *headOrder) from(i int) (row, run int) {
	if i < o.skip {
		return i, o.skip - i
	}
	h, j := (i-o.skip)/o.dim, (i-o.skip)%o.dim
	return o.skip + o.head(h)*o.dim + j, o.dim - j
}

// restore puts the columns of rows into the makers' order, in place. All value heads have the same
// size. A nil order changes nothing.
func (o *headOrder) restore(data []byte, rows int) {
	if o == nil || len(data) == 0 {
		return
	}
	width := len(data) / rows
	size := width / o.values
	was := make([]byte, width)
	for ; len(data) > 0; data = data[width:] {
		copy(was, data)
		for h := range o.values {
			copy(data[h*size:(h+1)*size], was[o.head(h)*size:])
		}
	}
}

// readHeads reads the rows [from, to) of a tensor with value heads into p.
func (w *weights) readHeads(t *source, p []byte, from, to int) error {
	bytes := t.rowBytes()
	for i := from; i < to; {
		row, run := t.heads.from(i)
		run = min(run, to-i)
		part := p[int64(i-from)*bytes : int64(i-from+run)*bytes]
		if got, err := w.files[t.file].ReadAt(part, t.offset+int64(row)*bytes); got < len(part) {
			return readError(err)
		}
		i += run
	}
	return nil
}

// restoreHeads sets how the value heads of a tensor change places.
func (c *config) restoreHeads(s *source) error {
	d := c.delta()
	if c.err != nil || d.keyHeads == d.valueHeads {
		return c.err
	}
	o := &headOrder{keys: d.keyHeads, values: d.valueHeads, dim: d.valueDim}
	switch {
	case hasSuffix(s.to, []string{".in_proj_a.weight", ".in_proj_b.weight", ".A_log", ".dt_bias"}):
		s.heads, o.dim = o, 1
	case strings.HasSuffix(s.to, ".in_proj_z.weight"):
		s.heads = o
	case strings.HasSuffix(s.to, ".in_proj_qkv.weight"):
		s.heads, o.skip = o, 2*d.keyHeads*d.keyDim
	case strings.HasSuffix(s.to, ".conv1d.weight"):
		s.heads, o.skip, o.dim = o, 2*d.keyHeads*d.keyDim*d.kernel, d.valueDim*d.kernel
	case strings.HasSuffix(s.to, ".linear_attn.out_proj.weight"):
		s.across = o
		if s.width() != o.values*o.dim {
			return damaged("tensor %q has rows of %d elements, which are no %d heads of %d",
				s.name, s.width(), o.values, o.dim)
		}
	}
	if s.heads != nil && s.rows() != o.skip+o.values*o.dim {
		return damaged("tensor %q has %d rows, where %d value heads need %d", s.name, s.rows(),
			o.values, o.skip+o.values*o.dim)
	}
	return nil
}

// checkColumns refuses columns of heads that share groups, which can't change places.
func (t *source) checkColumns() error {
	if t.across == nil || t.packing == nil {
		return nil
	}
	if dim := t.width() / t.across.values; dim%t.packing.group != 0 {
		return unsupported("has %q as %v, which heads of %d elements can't be; "+
			"take another quantization, such as Q4_K_M", t.name, t.kind, dim)
	}
	return nil
}
