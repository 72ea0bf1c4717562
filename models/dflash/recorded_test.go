package dflash_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models/dflash"
)

// recordedCase returns the files of one recorded case. change may replace arrays of the file of
// that name.
func recordedCase(t *testing.T, th *mlx.Thread, name, changed string,
	change func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	shared := openFixture(t, name).Shared
	for _, file := range []string{name + "/config.json", name + "/fixture.json",
		name + "/blocks.safetensors", shared + "/model.safetensors", shared + "/target.safetensors"} {
		data, err := os.ReadFile(filepath.Join("testdata/parity", file))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) == changed {
			data = changedTensors(t, th, data, change)
		}
		files[file] = &fstest.MapFile{Data: data}
	}
	return files
}

func changedTensors(t *testing.T, th *mlx.Thread, data []byte,
	change func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array) []byte {
	t.Helper()
	var out bytes.Buffer
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		held, err := mlx.OpenTensors(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		var list []mlx.NamedArray
		for _, name := range held.Names() {
			list = append(list, mlx.NamedArray{Name: name, Array: change(s, name, held.Load(s, name))})
		}
		return s.WriteTensors(&out, list, nil)
	})
	return out.Bytes()
}

// withoutLast cuts off the last row of an array.
func withoutLast(of string) func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array {
	return func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array {
		if name != of {
			return a
		}
		return s.Slice(a, 0, 0, a.Dim(0)-1)
	}
}

// lastIs changes the last number of an array.
func lastIs(of string, last int32) func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array {
	return func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array {
		if name != of {
			return a
		}
		return s.SliceUpdate(a, mlx.New(s, []int32{last}, 1), 0, a.Dim(0)-1)
	}
}

// TestRecordedDraftsAreCompared drafts one case as it was recorded, and refuses what cannot be
// compared: a logit that is no number in any row, files that lack rows, tokens that there are not,
// and contexts that become shorter.
func TestRecordedDraftsAreCompared(t *testing.T) {
	th := enginetest.NewThread(t)
	const name = "causal"
	for _, c := range []struct {
		file, want string // of an error; empty = it is compared
		change     func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array
	}{
		{"", "", nil},
		{"target.safetensors", "NaN", func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array {
			if name != "head" { // a token that no row guesses
				return a
			}
			nan := s.AsType(mlx.New(s, []float32{float32(math.NaN())}, 1, 1), a.Dtype())
			return s.SliceUpdate(a, s.BroadcastTo(nan, 1, a.Dim(1)), 0, a.Dim(0)-1)
		}},
		{"blocks.safetensors", "logits", withoutLast("logits")},
		{"blocks.safetensors", "anchors", withoutLast("anchor")},
		{"target.safetensors", "rows of context", func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array {
			if name != "taps" {
				return a
			}
			return s.Slice(a, 0, 0, 2)
		}},
		{"target.safetensors", "its head is", withoutLast("head")},
		{"target.safetensors", "its head is", func(s *mlx.Scope, name string, a *mlx.Array) *mlx.Array {
			if name != "head" {
				return a
			}
			return s.Concat(0, a, s.Slice(a, 0, 0, 1))
		}},
		{"blocks.safetensors", "begins with token 1073741824", lastIs("anchor", 1<<30)},
		{"blocks.safetensors", "begins with token -1", lastIs("anchor", -1)},
		{"blocks.safetensors", "rows of context", lastIs("context", -1)},
		{"blocks.safetensors", "after one with", lastIs("context", 0)},
	} {
		files := recordedCase(t, th, name, c.file, c.change)
		list, err := dflash.DraftRecorded(t.Context(), th, files, mlx.Float32)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %+v, %v, want %q", c.file, list, err, c.want)
		case c.want == "" && (err != nil || len(list) != 1 || !(list[0].Off <= 1e-4) ||
			list[0].Equal != list[0].Rows || list[0].Rows == 0):
			t.Errorf("%+v, %v", list, err)
		}
	}
}
