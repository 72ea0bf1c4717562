package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
)

func TestFolderIsAFileSystem(t *testing.T) {
	d, err := open(t, smallest().file())
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(d, weightsFile, configFile, tokenizerFile, tokenizerConfigFile,
		generationConfigFile); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(d, "chat_template.jinja"); err == nil {
		t.Error("a file that the metadata has nothing for is there")
	}
}

// TestHeadsAreInHalves gives each row of queries its number as its scale.
func TestHeadsAreInHalves(t *testing.T) {
	const rows, headDim = 64, 32
	data := make([]byte, rows*2*20)
	for row := range rows {
		for group := range 2 {
			binary.LittleEndian.PutUint16(data[(2*row+group)*20:], uint16(row))
		}
	}
	m := smallest()
	for i := range m.tensors {
		if m.tensors[i].name == "blk.0.attn_q.weight" {
			m.tensors[i].data = data
		}
	}
	d, err := open(t, m.file())
	if err != nil {
		t.Fatal(err)
	}
	file := mustRead(t, d, weightsFile)
	header := binary.LittleEndian.Uint64(file)
	var shown map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(file[8:8+header], &shown); err != nil {
		t.Fatal(err)
	}
	at := shown["model.layers.0.self_attn.q_proj.scales"].Offsets
	got := file[8+int(header):][at[0]:at[1]]
	for row := range rows {
		head, j := row/headDim, row%headDim
		want := uint16(head*headDim + j%16*2 + j/16)
		if scale := binary.LittleEndian.Uint16(got[4*row:]); scale != want {
			t.Fatalf("row %d is row %d of the file, not %d", row, scale, want)
		}
	}
	checkParts(t, d)
}

// checkParts compares tensors that are read whole with the same in parts, which come another way.
func checkParts(t *testing.T, d *Folder) {
	t.Helper()
	file := mustRead(t, d, weightsFile) // in parts that are not whole tensors
	f, err := d.Open(weightsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, e := range d.entries {
		whole := make([]byte, e.size)
		if _, err := f.(io.ReaderAt).ReadAt(whole, e.offset); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(whole, file[e.offset:][:e.size]) {
			t.Errorf("%s is not what parts of it are", e.name)
		}
	}
}

// TestNumbersAreFinite sets what JSON and a forward have no number for.
func TestNumbersAreFinite(t *testing.T) {
	for _, v := range []any{1e300, math.Inf(-1), float32(math.NaN())} {
		m := smallestWithout("llama.rope.freq_base")
		m.leave = ""
		m.set("llama.rope.freq_base", v)
		if _, err := open(t, m.file()); err == nil ||
			!strings.Contains(err.Error(), "llama.rope.freq_base is ") {
			t.Errorf("a base of %v is read: %v", v, err)
		}
	}
	m := smallest()
	factors := make([]byte, 4*16)
	binary.LittleEndian.PutUint32(factors[8:], math.Float32bits(float32(math.NaN())))
	m.add(ropeFactorsTensor, f32, factors, 16)
	if _, err := open(t, m.file()); err == nil || !strings.Contains(err.Error(), "has NaN") {
		t.Errorf("a factor of NaN is read: %v", err)
	}
}

func TestChangedFileIsRefused(t *testing.T) {
	file := smallest().file()
	fsys := fstest.MapFS{"model.gguf": {Data: file}}
	d, err := Open(fsys, "model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	fsys["model.gguf"] = &fstest.MapFile{Data: file[:len(file)-1]}
	if _, err := d.Open(weightsFile); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("another file is taken for the one whose header was read: %v", err)
	}
	delete(fsys, "model.gguf")
	_, err = d.Open(weightsFile) // fs.ErrNotExist would say that there is no model.safetensors
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "model.gguf is gone") {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestBrokenScaleIsRefused(t *testing.T) {
	m := smallest()
	for i := range m.tensors {
		if m.tensors[i].name == "token_embd.weight" {
			binary.LittleEndian.PutUint16(m.tensors[i].data, 0x7c00) // infinite
		}
	}
	d, err := open(t, m.file())
	if err != nil {
		t.Fatal(err)
	}
	_, err = fs.ReadFile(d, weightsFile)
	if err == nil || !strings.Contains(err.Error(), "token_embd.weight") {
		t.Errorf("a scale that is not finite is read: %v", err)
	}
}

// A flakyFile fails once.
type flakyFile struct {
	*bytes.Reader
	failed atomic.Bool
}

func (f *flakyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.failed.CompareAndSwap(false, true) {
		return 0, errors.New("the disk is away")
	}
	return f.Reader.ReadAt(p, off)
}

// TestScalesOfAFailedReadAreReadAgain reads the scales of a tensor whose weights could not be read.
func TestScalesOfAFailedReadAreReadAgain(t *testing.T) {
	m := smallest()
	for i := range m.tensors {
		if x := &m.tensors[i]; x.kind == q4_1 {
			x.data = bytes.Repeat([]byte{1}, len(x.data))
		}
	}
	d, err := open(t, m.file())
	if err != nil {
		t.Fatal(err)
	}
	w := &weights{header: d.header, entries: d.entries,
		files: []io.ReaderAt{&flakyFile{Reader: bytes.NewReader(m.file())}}}
	i := slices.IndexFunc(d.entries, func(e *entry) bool { return e.kind == q4_1 && e.part == weight })
	for round := range 2 { // the second is right
		for j, e := range d.entries[i : i+3] {
			p := make([]byte, e.size)
			_, err := w.ReadAt(p, e.offset)
			if (err != nil) != (round == 0 && j == 0) {
				t.Errorf("part %d of %s in round %d: %v", j, e.tensor.name, round, err)
			}
			if err == nil && e.part != weight && !slices.Equal(p, bytes.Repeat([]byte{1}, len(p))) {
				t.Errorf("part %d of %s is %v", j, e.tensor.name, p[:4])
			}
		}
	}
}
