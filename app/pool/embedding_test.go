package pool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// A recordedModel holds the results that build/fixtures/embeddings.py recorded of an embedding
// model or a reranker.
type recordedModel struct {
	enginetest.Recording

	dir   string // a folder that can be loaded
	texts [][]int32
	want  map[string][][]float32 // tensors by name, each as rows
}

func openRecorded(t *testing.T, name string) *recordedModel {
	t.Helper()
	const root = "../../models/testdata/embedding"
	r := &recordedModel{dir: filepath.Join(t.TempDir(), name), want: map[string][][]float32{}}
	from := filepath.Join(root, name)
	r.Read(t, from, r)
	files := enginetest.RecordedWeights(t, root, name)
	r.Check(t, files)
	// Only ids are read. So any tokenizer that is no larger than the vocabulary will do.
	files["tokenizer.json"] = &fstest.MapFile{Data: []byte(
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},` +
			`"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`)}
	err := errors.Join(os.CopyFS(r.dir, os.DirFS(from)), os.CopyFS(r.dir, files))
	if err != nil {
		t.Fatal(err)
	}
	th := enginetest.NewThread(t)
	tensors := enginetest.Tensors(t, filepath.Join(from, "float32.safetensors"))
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		for _, name := range tensors.Names() {
			a := tensors.Load(s, name)
			if strings.HasPrefix(name, "text") {
				continue
			}
			if r.want[name], err = enginetest.ReadRows(s, a); err != nil {
				return err
			}
		}
		for i := 0; ; i++ {
			name := fmt.Sprint("text", i)
			if _, ok := tensors.Info(name); !ok {
				return nil
			}
			ids, err := mlx.Read[int32](s, tensors.Load(s, name))
			if err != nil {
				return err
			}
			r.texts = append(r.texts, ids)
		}
	})
	if len(r.texts) < 6 {
		t.Fatalf("%s has %d texts", name, len(r.texts))
	}
	return r
}

// acquired registers a recorded model and loads it. The caller releases it.
func (r *running) acquired(t *testing.T, of *recordedModel) model.Model {
	t.Helper()
	row, err := r.library.AddModel(t.Context(), control.AddRequest{Path: of.dir})
	if err != nil {
		t.Fatal(err)
	}
	return r.acquire(t, row.ID)
}

var embeddingCases = []string{"lasttoken", "mean", "cls"}

// Vectors, whole and cut, and the scores of a reranker are the recorded ones.
func TestVectorsAndScoresAreTheRecordedOnes(t *testing.T) {
	r := open(t, setup{})
	for _, name := range embeddingCases {
		of := openRecorded(t, name)
		m := r.acquired(t, of)
		if m.Reader().Kind() != control.KindEmbedding || m.Reader().Dimensions() != 64 {
			t.Errorf("%s is %q, %d dimensions", name, m.Reader().Kind(), m.Reader().Dimensions())
		}
		for _, dimensions := range []int{0, 64, 16, 1} {
			rows, stats, err := m.Reader().Embed(t.Context(), engine.EncodeRequest{Sequences: of.texts},
				dimensions)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range of.want["vectors"] {
				if n := dimensions; n > 0 {
					want = slices.Clone(want[:n])
					if name != "cls" { // it is not normalised
						unitLength(want)
					}
				}
				enginetest.WantNear(t, fmt.Sprintf("%s: text %d in %d dimensions",
					name, i, dimensions), rows[i], want)
			}
			if stats.PromptTokens != 1+2+7+44+70+600 {
				t.Errorf("%s: %d tokens", name, stats.PromptTokens)
			}
		}
		m.Release()
	}
	of := openRecorded(t, "reranker")
	m := r.acquired(t, of)
	defer m.Release()
	scores, _, err := m.Reader().Relevance(t.Context(), engine.EncodeRequest{Sequences: of.texts})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, len(scores))
	for i, x := range scores {
		got[i] = float32(x)
	}
	enginetest.WantNear(t, "the scores", got, of.want["scores"][0])
}

// A text has the same vector, alone or with other texts. The test runs where arithmetic is the same
// to the bit.
func TestVectorDoesNotDependOnTheTextsReadWithIt(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	r := open(t, setup{})
	var d enginetest.Diff
	for _, name := range embeddingCases {
		of := openRecorded(t, name)
		m := r.acquired(t, of)
		texts := append(slices.Clone(of.texts), of.texts[3][:30], of.texts[3][:31], of.texts[1])
		together, _, err := m.Reader().Embed(t.Context(), engine.EncodeRequest{Sequences: texts}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			alone, _, err := m.Reader().Embed(t.Context(), engine.EncodeRequest{Sequences: [][]int32{text}},
				0)
			if err != nil {
				t.Fatal(err)
			}
			d.Compare(fmt.Sprintf("%s, text %d", name, i), together[i], alone[0])
		}
		m.Release()
	}
	d.Check(t)
}

// Vectors and scores are of whole keys and values, whatever bits are set for answers: a program compares
// them with those it has kept. The bits are nothing that such a model waits for, nor can it have its own.
func TestVectorsAndScoresHaveWholeKeysAndValues(t *testing.T) {
	of := []*recordedModel{openRecorded(t, "mean"), openRecorded(t, "reranker")}
	read := func(r *running, of *recordedModel) (rows [][]float32) {
		m := r.acquired(t, of)
		defer m.Release()
		var err error
		if m.Reader().Kind() == control.KindEmbedding {
			rows, _, err = m.Reader().Embed(t.Context(), engine.EncodeRequest{Sequences: of.texts}, 0)
		} else {
			var scores []float64
			scores, _, err = m.Reader().Relevance(t.Context(), engine.EncodeRequest{Sequences: of.texts})
			for _, x := range scores {
				rows = append(rows, []float32{float32(x)})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for _, set := range []setup{{KVBits: 8}, {}} {
		plain, r := open(t, setup{}), open(t, set)
		if set.KVBits == 0 { // by the setting
			if _, err := r.ChangeSettings(t.Context(),
				control.SettingsChange{"kv_bits": json.RawMessage("4")}); err != nil {
				t.Fatal(err)
			}
		}
		for _, of := range of {
			if want, got := read(plain, of), read(r, of); !slices.EqualFunc(want, got,
				slices.Equal[[]float32]) {
				t.Errorf("%s: other results with bits of %+v", filepath.Base(of.dir), set)
			}
			id := filepath.Base(of.dir)
			m := find(r.pool.look().models, id)
			if bits := m.Describe().KVBits; bits != 0 || m.Format().KVBits != 0 {
				t.Errorf("%s has %d bits", id, bits)
			}
			if got := m.drafting(); got != "" {
				t.Errorf("%s: drafting is %q", id, got)
			}
			st, err := r.pool.ModelSettings(t.Context(), id)
			if err != nil || st.Later || r.pool.SettingsLater()["kv_bits"] != "" || st.Needs == nil {
				t.Errorf("%s: %+v, %v, %v", id, st, r.pool.SettingsLater(), err)
			}
			_, err = r.pool.SetModelSettings(t.Context(),
				control.ModelSettings{Model: id, KVBits: new(8)})
			if e, ok := errors.AsType[*control.Error](err); !ok || e.Param != "kv_bits" {
				t.Errorf("%s with bits of its own: %v", id, err)
			}
		}
	}
}

// unitLength scales a vector to length 1.
func unitLength(row []float32) {
	sum := 0.0
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	for i, x := range row {
		row[i] = float32(float64(x) / math.Sqrt(sum))
	}
}
