package gguf

import (
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"
)

// openRecorded opens a recorded file.
func openRecorded(t *testing.T, name string) *Folder {
	t.Helper()
	d, err := Open(os.DirFS("../testdata/gguf"), name+".gguf")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestValueHeadsInParts reads rows and columns of value heads whole and in parts.
func TestValueHeadsInParts(t *testing.T) {
	d := openRecorded(t, "qwen35")
	rows, columns := 0, 0
	for _, e := range d.entries {
		if e.heads != nil {
			rows++
		}
		if e.across != nil {
			columns++
		}
	}
	if rows == 0 || columns == 0 {
		t.Errorf("%d tensors change the order of rows, %d the order of columns", rows, columns)
	}
	checkParts(t, d)
}

// TestHeadOrder compares three value heads of each of two key heads.
func TestHeadOrder(t *testing.T) {
	o := &headOrder{skip: 1, keys: 2, values: 6, dim: 2}
	want := []int{0, 1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12}
	for i, w := range want {
		if row, run := o.from(i); row != w || run < 1 || run > 2 {
			t.Errorf("row %d is row %d of the file, and %d follow; want %d", i, row, run, w)
		}
	}
	data := []byte("aAbBcC" + "dDeEfF")
	if o.restore(data, 2); string(data) != "abcABC"+"defDEF" {
		t.Errorf("columns become %q", data)
	}
}

// TestOtherDeltaNetsAreRefused sets sizes that the tensors do not have.
func TestOtherDeltaNetsAreRefused(t *testing.T) {
	for _, c := range []struct {
		key   string
		value int64
		want  string
	}{
		{"ssm.group_count", 3, "key heads"}, {"ssm.group_count", 0, "ssm.group_count"},
		{"ssm.group_count", 1, "value heads need"},
		{"ssm.time_step_rank", 8, "value heads need"},
		{"ssm.state_size", 25, "value heads need"},
		{"ssm.state_size", math.MaxInt32, "ssm.state_size"},
		{"ssm.inner_size", 64, "value heads need"}, {"ssm.inner_size", 3, "value heads of 0"},
		{"ssm.conv_kernel", -1, "ssm.conv_kernel"},
		{"block_count", 1 << 20, "recurrent_layers"},
	} {
		m := recorded(t, "qwen35")
		m.header.metadata["qwen35."+c.key] = c.value
		m.header.metadata["qwen35.attention.recurrent_layers"] = []int64{1, 1, 1, 0}
		sources, err := m.sources()
		if err == nil {
			_, err = m.config(sources)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %d: %v", c.key, c.value, err)
		}
	}
}

// TestPredictorsAreLeftOut takes the last layer of a model for one that predicts further tokens.
func TestPredictorsAreLeftOut(t *testing.T) {
	m := recorded(t, "qwen35")
	m.header.metadata["qwen35.nextn_predict_layers"] = int64(1)
	sources, err := m.sources()
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.config(sources)
	if err != nil || !strings.Contains(string(text), `"num_hidden_layers":3`) {
		t.Errorf("%s, %v", text, err)
	}
	for _, s := range sources {
		if strings.HasPrefix(s.to, "model.layers.3.") {
			t.Errorf("%s is there", s.to)
		}
	}
}

// TestStatesThatDoNotDecayAreRefused gives a state another decay than a number below 0.
func TestStatesThatDoNotDecayAreRefused(t *testing.T) {
	s := &source{tensor: tensor{kind: f32, shape: []int{2}}, log: true}
	data := make([]byte, 8)
	for i := range 2 {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(-1))
	}
	if err := s.restoreElements(data); err != nil || binary.LittleEndian.Uint32(data) != 0 {
		t.Errorf("%x, %v", data, err)
	}
	for _, v := range []float32{0, 0.5, float32(math.NaN())} {
		binary.LittleEndian.PutUint32(data, math.Float32bits(v))
		if err := s.restoreElements(data); err != errDecay {
			t.Errorf("%v: %v", v, err)
		}
	}
}
