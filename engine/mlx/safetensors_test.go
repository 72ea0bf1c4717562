package mlx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// file puts a header and n bytes of data into a safetensors file.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func open(b []byte) (*Tensors, error) {
	return OpenTensors(bytes.NewReader(b), int64(len(b)))
}

func TestTensorsRoundTrip(t *testing.T) {
	th := newThread(t)
	var buf bytes.Buffer
	do(t, th, func(s *Scope) error {
		m := New(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
		return s.WriteTensors(&buf, []NamedArray{
			{"z", m},
			{"transposed", s.Transpose(m, 1, 0)}, // not in row order
			{"half", s.AsType(m, BFloat16)},
			{"ids \"\x01é", New(s, []int32{7, -1}, 2)},
			{"scalar", s.Scalar(3, Float32)},
			{"empty", s.Zeros(Float32, 0, 4)},
		}, map[string]string{"format": "mlx"})
	})
	ts, err := open(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := ts.Names(); !slices.Equal(got, []string{"empty", "half", "ids \"\x01é", "scalar",
		"transposed", "z"}) {
		t.Errorf("names %q", got)
	}
	if got := ts.Metadata()["format"]; got != "mlx" {
		t.Errorf("metadata format %q", got)
	}
	if info, _ := ts.Info("half"); info.Dtype != "BF16" || info.Bytes != 12 || info.Size() != 6 {
		t.Errorf("half is %+v", info)
	}
	do(t, th, func(s *Scope) error {
		got, err := Read[float32](s, ts.Load(s, "transposed"))
		if want := []float32{1, 4, 2, 5, 3, 6}; err == nil && !slices.Equal(got, want) {
			t.Errorf("transposed is %v, want %v", got, want)
		}
		half, err := Read[float32](s, s.AsType(ts.Load(s, "half"), Float32))
		if want := []float32{1, 2, 3, 4, 5, 6}; err == nil && !slices.Equal(half, want) {
			t.Errorf("half is %v, want %v", half, want)
		}
		ids, err := Read[int32](s, ts.Load(s, "ids \"\x01é"))
		if want := []int32{7, -1}; err == nil && !slices.Equal(ids, want) {
			t.Errorf("ids are %v, want %v", ids, want)
		}
		if shape := ts.Load(s, "empty").Shape(); !slices.Equal(shape, []int{0, 4}) {
			t.Errorf("empty has shape %v", shape)
		}
		return err
	})
}

func TestLoadedTensorsFreeTheirMemory(t *testing.T) {
	th := newThread(t)
	header := `{"a":{"dtype":"F32","shape":[262144],"data_offsets":[0,1048576]}}`
	ts, err := open(file(header, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	load := func(s *Scope) error { return s.Eval(s.Add(ts.Load(s, "a"), s.Scalar(1, Float32))) }
	do(t, th, load)
	before := th.Memory().Active
	for range 100 {
		do(t, th, load)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d over 100 loads", before, after)
	}
}

func TestNullMetadataIsRead(t *testing.T) {
	// As MLX itself writes it.
	ts, err := open(file(`{"__metadata__":null,"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1))
	if err != nil || len(ts.Metadata()) != 0 {
		t.Errorf("got %v, %v", ts, err)
	}
}

func TestBadTensorFilesAreRefused(t *testing.T) {
	const good = `{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for _, c := range []struct {
		name   string
		file   []byte
		reason string
	}{
		{"too short", []byte("1234567"), "1 bytes are missing"},
		{"html", []byte("<!DOCTYPE html><html>..."), "not a safetensors file"},
		{"length beyond file", append(binary.LittleEndian.AppendUint64(nil, 100), '{', '}'), "98 bytes are missing; download it again"},
		{"length overflows", append(binary.LittleEndian.AppendUint64(nil, 1<<63+1), '{', '}'), "not a safetensors file"},
		{"not json", file("{]", 0), "damaged"},
		{"ends early", file(`{"a":`, 0), "ends early"},
		{"array", file("[]", 0), "not an object"},
		{"more after", file(`{} {}`, 0), "more after"},
		{"truncated data", file(`{"a":`+good+`}`, 5), "3 bytes are missing; download it again"},
		{"trailing data", file(`{"a":`+good+`}`, 9), "1 bytes after its last tensor"},
		{"twice", file(`{"a":`+good+`,"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, 16), `names "a" twice`},
		{"field twice", file(`{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), "unexpected field"},
		{"overlap", file(`{"a":`+good+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), "overlaps"},
		{"same range", file(`{"a":`+good+`,"b":`+good+`}`, 8), "overlaps"},
		{"gap", file(`{"a":`+good+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}}`, 20), "gap"},
		{"gap at start", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), "gap"},
		{"backwards", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), "before it begins"},
		{"size mismatch", file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8), "needs 12"},
		{"dtype mismatch", file(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}}`, 8), "needs 4"},
		{"unknown dtype", file(`{"a":{"dtype":"F7","shape":[2],"data_offsets":[0,8]}}`, 8), "unknown dtype F7"},
		{"dtype number", file(`{"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}}`, 8), "unknown dtype 7"},
		{"negative", file(`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), "not a count"},
		{"fraction", file(`{"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}}`, 8), "not a count"},
		{"huge extent", file(`{"a":{"dtype":"F32","shape":[4294967296],"data_offsets":[0,8]}}`, 8), "more than MLX"},
		{"overflow", file(`{"a":{"dtype":"F32","shape":[2147483647,2147483647,2147483647],"data_offsets":[0,8]}}`, 8), "overflows"},
		{"offset overflow", file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[9223372036854775807,9223372036854775807]}}`, 8), "gap"},
		{"nine dims", file(`{"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}`, 1), "more than 8"},
		{"three offsets", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}}`, 8), "more than 2"},
		{"no offsets", file(`{"a":{"dtype":"F32","shape":[2]}}`, 8), "lacks"},
		{"null", file(`{"a":null}`, 0), "not an object"},
		{"metadata number", file(`{"__metadata__":{"a":1}}`, 0), "__metadata__"},
		{"metadata nested", file(`{"__metadata__":{"a":{"b":"c"}}}`, 0), "__metadata__"},
		{"deep", file(`{"a":{"dtype":"F32","shape":`+strings.Repeat("[", 100_000)+`}}`, 0), "not a number"},
		{"half a byte", file(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}`, 1), "needs 0"},
	} {
		_, err := open(c.file)
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.reason)
		}
	}
}

func TestTypeWithoutMLXIsRefusedWhenLoaded(t *testing.T) {
	ts, err := open(file(`{"a":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[0,2]}}`, 2))
	if err != nil {
		t.Fatal(err)
	}
	err = newThread(t).Do(t.Context(), func(s *Scope) error { ts.Load(s, "a"); return nil })
	if err == nil || !strings.Contains(err.Error(), `"a" has type F8_E5M2`) {
		t.Errorf("got %v", err)
	}
}

// TestFloatsOfEightBitsAreLoadedAsBytes holds for packed weights and their scales.
func TestFloatsOfEightBitsAreLoadedAsBytes(t *testing.T) {
	for _, dtype := range []string{"F8_E4M3", "F8_E8M0"} {
		ts, err := open(file(`{"a":{"dtype":"`+dtype+`","shape":[2],"data_offsets":[0,2]}}`, 2))
		if err != nil {
			t.Fatal(err)
		}
		err = newThread(t).Do(t.Context(), func(s *Scope) error {
			a := ts.Load(s, "a")
			if a.Dtype() != Uint8 || a.Dim(0) != 2 {
				t.Errorf("%s is loaded as %s %v", dtype, a.Dtype(), a.Shape())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// FuzzSafetensorsHeader checks that no header panics, and that an accepted header covers the file
// exactly.
func FuzzSafetensorsHeader(f *testing.F) {
	f.Add([]byte(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`), int64(8))
	f.Add([]byte(`{"__metadata__":{"format":"mlx"},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},"c":{"dtype":"U8","shape":[],"data_offsets":[4,5]}}  `),
		int64(5))
	f.Add([]byte(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`), int64(1))
	f.Fuzz(func(t *testing.T, text []byte, data int64) {
		start := int64(8 + len(text))
		if data < 0 || data > 1<<40 {
			return
		}
		h, err := parseHeader(text, start, start+data)
		if err != nil {
			if s := err.Error(); s == "" || strings.ContainsRune(s, '\n') {
				t.Errorf("error %q is not one line", s)
			}
			return
		}
		end := start
		for _, info := range h.tensors {
			if info.offset != end || info.Bytes < 0 ||
				info.Size()*tensorBits[info.Dtype] != info.Bytes*8 {
				t.Errorf("accepted %s", fmt.Sprintf("%+v at %d", info, end))
			}
			end += info.Bytes
		}
		if end != start+data {
			t.Errorf("tensors end at %d, the file at %d", end, start+data)
		}
	})
}

// emptyTensors returns the header of so many tensors without elements.
func emptyTensors(n int, key string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"t%d":{"dtype":"F32","shape":[0],"%s":[0,0]}`, i, key)
	}
	return "{" + b.String()[1:] + "}"
}

// TestHeaderOfManyTensorsIsRefusedAtOnce expects a bound on tensors and on metadata, before the time
// that it takes to read them all.
func TestHeaderOfManyTensorsIsRefusedAtOnce(t *testing.T) {
	if _, err := open(file(emptyTensors(MaxTensors, "data_offsets"), 0)); err != nil {
		t.Errorf("%d tensors: %v", MaxTensors, err)
	}
	metadata := `{"__metadata__":{"k":""`
	for i := range 3 * maxMetadata {
		metadata += fmt.Sprintf(`,"k%d":""`, i)
	}
	for name, header := range map[string]string{
		"tensors":              emptyTensors(700_000, "data_offsets"),
		"one too many":         emptyTensors(MaxTensors+1, "data_offsets"),
		"tensors with escapes": emptyTensors(10*MaxTensors, `data\u005foffsets`),
		"metadata":             metadata + "}}",
	} {
		start := time.Now()
		_, err := open(file(header, 0))
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
		// It takes a tenth of this.
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: refused after %s", name, took)
		}
	}
}
