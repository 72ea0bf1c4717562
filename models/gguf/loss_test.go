package gguf

import (
	"context"
	"errors"
	"io"
	"testing"
)

// uneven returns blocks of Q6_K. Where even reports so, all parts of a block have one scale, which
// fits 8 bits and groups of 64. Elsewhere a few parts are much wider than the others, which does not.
func uneven(blocks int, even func(i int) bool) []byte {
	const size = 210
	data := make([]byte, blocks*size)
	for i := range data {
		data[i] = byte(i * 37 >> 2)
	}
	for i := range blocks {
		b := data[i*size:][:size]
		for part := range 16 {
			if b[192+part] = 64; part%4 > 0 && !even(i) {
				b[192+part] = 3
			}
		}
		little.PutUint16(b[208:], 0x2400)
	}
	return data
}

// withQ6K returns a model with such a tensor of blocks blocks.
func withQ6K(blocks int, even func(i int) bool) *image {
	m := smallest()
	for i := range m.tensors {
		if m.tensors[i].name == "blk.0.ffn_down.weight" {
			m.tensors[i] = imageTensor{m.tensors[i].name, q6_k, []int{blocks, super},
				uneven(blocks, even)}
		}
	}
	return m
}

// readQ6K reads the weight of that tensor whole, as a load does.
func readQ6K(t *testing.T, d *Folder) error {
	f, err := d.Open(weightsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, e := range d.entries {
		if e.kind == q6_k && e.part == weight {
			n, err := f.(io.ReaderAt).ReadAt(make([]byte, e.size), e.offset)
			if err != nil && n == int(e.size) {
				t.Errorf("a whole tensor comes with the error %v", err)
			}
			return err
		}
	}
	t.Fatal("the tensor is not there")
	return nil
}

// TestWholeTensorsAreMeasured reads a tensor whose sample is as the whole. Its loss is reported for
// the whole then.
func TestWholeTensorsAreMeasured(t *testing.T) {
	d, err := open(t, withQ6K(2048, func(i int) bool { return i%9 > 0 }).file())
	if err != nil {
		t.Fatal(err)
	}
	sampled := d.Losses()
	if len(sampled) != 1 || sampled[0].Whole || sampled[0].Kind != "Q6_K" {
		t.Fatalf("the losses are %+v", sampled)
	}
	if err := readQ6K(t, d); err != nil {
		t.Fatal(err)
	}
	whole := d.Losses()[0]
	if !whole.Whole || whole.RMS == sampled[0].RMS || whole.Max == 0 || whole.RMS >= maxError {
		t.Errorf("the loss is %+v, of a sample %+v", whole, sampled[0])
	}
}

// TestSampleThatMisleadsIsNotTrusted gives the blocks of a sample even scales, and no others. The
// load says so, and the folder that is opened then has enough bits.
func TestSampleThatMisleadsIsNotTrusted(t *testing.T) {
	const blocks = 4096
	sampled := map[int]bool{}
	for i := range sampleRuns {
		for j := range sampleRun {
			sampled[(blocks-sampleRun)*i/(sampleRuns-1)+j] = true
		}
	}
	d, err := open(t, withQ6K(blocks, func(i int) bool { return sampled[i] }).file())
	if err != nil {
		t.Fatal(err)
	}
	err = readQ6K(t, d)
	if e, ok := errors.AsType[*CoarseError](err); !ok || e.Tensor != "blk.0.ffn_down.weight" {
		t.Fatalf("the load says %v, and the losses are %+v", err, d.Losses())
	}
	ctx := &countingContext{Context: t.Context(), most: sampleRuns + 2} // in the tensor
	if _, err := d.Refined(ctx); !errors.Is(err, context.Canceled) || ctx.asked != ctx.most {
		t.Errorf("after the end of its context it reads on: %v, asked %d times", err, ctx.asked)
	}
	finer, err := d.Refined(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := readQ6K(t, finer); err != nil {
		t.Fatal(err)
	}
	if l := finer.Losses()[0]; !l.Whole || l.RMS >= maxError {
		t.Errorf("the loss is %+v", l)
	}
}

// A countingContext ends when it is asked for the last time.
type countingContext struct {
	context.Context
	asked, most int
}

func (c *countingContext) Err() error {
	if c.asked++; c.asked < c.most {
		return nil
	}
	return context.Canceled
}
