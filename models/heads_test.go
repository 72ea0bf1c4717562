package models_test

import (
	"cmp"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/gemma4"
	"tandem/models/nn"
	"tandem/models/qwen35"
)

// A recordedHead is what mlx_vlm guessed with a tiny head over a text (build/fixtures/mtp.py).
type recordedHead struct {
	enginetest.Recording
	dir    string
	config []byte
	files  fstest.MapFS // the head's weights, and what it borrows

	context, newest, n, drafts, tokens []int32
	logits                             [][]float32
}

func openHead(t *testing.T, name string) *recordedHead {
	t.Helper()
	f := &recordedHead{dir: filepath.Join("testdata", "heads", name)}
	f.Read(t, f.dir, f)
	if f.Versions["mlx_vlm"] == "" {
		t.Fatalf("%s/fixture.json does not say the version of mlx_vlm", f.dir)
	}
	f.files = enginetest.RecordedTensors(t, f.dir)
	f.Check(t, f.files)
	var err error
	if f.config, err = os.ReadFile(filepath.Join(f.dir, "config.json")); err != nil {
		t.Fatal(err)
	}
	return f
}

// read reads the blocks and the text.
func (f *recordedHead) read(t *testing.T, s *mlx.Scope, target *mlx.Tensors) error {
	blocks := enginetest.Tensors(t, filepath.Join(f.dir, "blocks.safetensors"))
	for name, to := range map[string]*[]int32{
		"context": &f.context, "newest": &f.newest, "n": &f.n, "drafts": &f.drafts,
	} {
		var err error
		if *to, err = mlx.Read[int32](s, blocks.Load(s, name)); err != nil {
			return err
		}
	}
	var err error
	if f.tokens, err = mlx.Read[int32](s, target.Load(s, "tokens")); err != nil {
		return err
	}
	f.logits, err = enginetest.ReadRows(s, blocks.Load(s, "logits"))
	return err
}

// A headTarget stands for the model that lends embedding, output head, keys and values.
type headTarget struct {
	nn.Model // nil: what is not here is not asked for

	embedding, head, hidden *mlx.Array
	scale                   float64
	kv                      map[string]*mlx.Array
}

func (r *headTarget) Embed(s *mlx.Scope, tokens *mlx.Array) *mlx.Array {
	return s.Take(r.embedding, tokens, 0)
}

func (r *headTarget) EmbedScale() float64 { return r.scale }

func (r *headTarget) Config() lm.Config {
	return lm.Config{VocabSize: r.embedding.Dim(0), HiddenSize: r.embedding.Dim(1), Layers: 4,
		Dtype: mlx.Float32}
}

func (r *headTarget) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array { return r.Head(s, hidden) }

func (r *headTarget) Head(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	return s.MatMul(hidden, s.Transpose(r.head, 1, 0))
}

// TestHeadsGuessAsMLXVLM compares the logits and the greedy guesses of chains.
func TestHeadsGuessAsMLXVLM(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "heads", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%v, %v", dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { testHead(t, filepath.Base(dir)) })
	}
}

// testHead compares all chains of one case.
func testHead(t *testing.T, name string) {
	th := enginetest.NewThread(t)
	f := openHead(t, name)
	target := enginetest.OpenTensors(t, f.files["target.safetensors"].Data)
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		if err := f.read(t, s, target); err != nil {
			return err
		}
		of := &headTarget{scale: 1, kv: map[string]*mlx.Array{}}
		for _, name := range target.Names() {
			a := s.Keep(s.AsType(target.Load(s, name), mlx.Float32))
			of.kv[name] = a
			defer a.Free()
		}
		of.embedding, of.head, of.hidden = of.kv["embedding"], of.kv["head"], of.kv["hidden"]
		w := nn.NewWeights(s, headFile{enginetest.OpenTensors(t,
			f.files["model.safetensors"].Data)}, nil)
		w.Dtype = mlx.Float32
		defer w.Free()
		guess, err := of.guesser(w, f.config, name)
		if err = cmp.Or(err, w.Err()); err != nil {
			return err
		}
		at := 0
		for i, context := range f.context {
			n := int(f.n[i])
			got, ids, err := guess(s, append(f.tokens[:context:context], f.newest[i]), n)
			if err != nil {
				return err
			}
			compareChain(t, i, got, f.logits[at:at+n], ids, f.drafts[at:at+n])
			at += n
		}
		return nil
	})
}

// A chain returns the logits of n guesses after a text, and the guesses.
type chain func(s *mlx.Scope, text []int32, n int) (logits [][]float32, ids []int32, err error)

// guesser reads the head or the assistant of a case.
func (r *headTarget) guesser(w *nn.Weights, config []byte, name string) (chain, error) {
	if strings.HasPrefix(name, "gemma4") {
		r.scale = 6.9375 // as build/fixtures/mtp.py has it
		m, err := gemma4.NewAssistant(w, config, r)
		return func(s *mlx.Scope, text []int32, n int) ([][]float32, []int32, error) {
			return r.assist(s, m, text, n)
		}, err
	}
	m, err := qwen35.NewMTP(w, config, r)
	return func(s *mlx.Scope, text []int32, n int) ([][]float32, []int32, error) {
		return r.draft(s, m, text, n)
	}, err
}

// KVShapes are those of a layer with a window and of a full one.
func (r *headTarget) KVShapes() []lm.KVShape {
	return []lm.KVShape{{Heads: 2, Dim: 16, Window: assistantWindow}, {Heads: 2, Dim: 32}}
}

// assistantWindow is that of recorded assistants.
const assistantWindow = 16

// assist guesses with an assistant, over a ring and a full cache.
func (r *headTarget) assist(s *mlx.Scope, m *gemma4.Assistant, text []int32,
	n int) ([][]float32, []int32, error) {
	rows := len(text) - 1
	caches := cache.Stack{cache.NewRotating(assistantWindow, 0), cache.NewKV(0)}
	defer caches.Free(s)
	for i, name := range []string{"sliding_attention", "full_attention"} {
		caches[i].(cache.Attention).Update(s, s.Slice(r.kv[name+".keys"], 2, 0, rows),
			s.Slice(r.kv[name+".values"], 2, 0, rows))
	}
	hidden, next := s.Slice(r.hidden, 0, rows-1, rows), mlx.New(s, text[rows:], 1)
	var all []*mlx.Array
	for range n {
		var logits *mlx.Array
		logits, hidden = m.Forward(s, next, hidden, caches)
		next = s.AsType(s.Argmax(logits, -1), mlx.Int32)
		all = append(all, logits)
	}
	return readChain(s, caches, all)
}

// A headFile is one file of a head.
type headFile struct{ *mlx.Tensors }

func (f headFile) Format(string) string { return f.Metadata()["format"] }

// draft guesses with a head.
func (r *headTarget) draft(s *mlx.Scope, m *qwen35.MTP, text []int32,
	n int) ([][]float32, []int32, error) {
	caches := cache.Stack(m.NewCaches(cache.Options{}))
	defer caches.Free(s)
	m.Begin(s, caches)
	rows := len(text) - 1
	hidden := m.Forward(s, mlx.New(s, text[1:], rows), s.Slice(r.hidden, 0, 0, rows), 0, caches)
	hidden = s.Slice(hidden, 0, rows-1, rows)
	var all []*mlx.Array
	for i := range n {
		x := r.Unembed(s, hidden)
		next := s.AsType(s.Argmax(x, -1), mlx.Int32)
		all = append(all, x)
		if i+1 < n {
			hidden = m.Forward(s, next, hidden, rows+i, caches)
		}
	}
	return readChain(s, caches, all)
}

// readChain reads the logits (1, V) of each guess.
func readChain(s *mlx.Scope, caches cache.Stack,
	all []*mlx.Array) (logits [][]float32, ids []int32, err error) {
	joined := s.Concat(0, all...)
	if err := s.Eval(append(caches.Arrays(), joined)...); err != nil {
		return nil, nil, err
	}
	logits, err = enginetest.ReadRows(s, joined)
	for _, row := range logits {
		ids = append(ids, argmax(row))
	}
	return logits, ids, err
}

// compareChain expects logits within 1e-4 of the largest of the recorded ones, as parity does, and the same guesses.
func compareChain(t *testing.T, block int, got, want [][]float32, ids, drafts []int32) {
	t.Helper()
	off := 0.0
	for i := range want {
		if ids[i] != drafts[i] {
			t.Errorf("block %d: guess %d is %d, not %d", block, i, ids[i], drafts[i])
		}
		most := largest(want[i])
		for j := range want[i] {
			if d := math.Abs(float64(got[i][j]-want[i][j])) / most; !(d <= 1e-4) {
				off = max(off, d)
			}
		}
	}
	if off > 0 {
		t.Errorf("block %d: logits are off by up to %g of the largest", block, off)
	}
}

// TestUnfitHeadIsRefused expects an error of one sentence and no memory left in use.
func TestUnfitHeadIsRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "qwen3_5")
	defer b.Close()
	before := th.Memory().Active
	const other = ": take the head published for this model"
	for _, c := range []struct {
		name   string
		fields map[string]any
		spoil  func(dir string) error
		code   models.Code
		want   string
	}{
		{name: "hidden width", fields: map[string]any{"hidden_size": 32}, code: models.CodeInvalid,
			want: "with 32 hidden elements, and this one has 64" + other},
		{name: "vocabulary", fields: map[string]any{"vocab_size": 300}, code: models.CodeInvalid,
			want: "with 300 tokens of vocabulary, and this one has 260" + other},
		{name: "dedicated embeddings", fields: map[string]any{"mtp_use_dedicated_embeddings": true},
			code: models.CodeUnsupported, want: "mtp_use_dedicated_embeddings is not supported"},
		{name: "no layers", fields: map[string]any{"mtp_num_hidden_layers": -1},
			spoil: weightsOfHead(t), code: models.CodeInvalid, want: "mtp_num_hidden_layers is -1"},
		{name: "one layer more", fields: map[string]any{"mtp_num_hidden_layers": 2},
			spoil: weightsOfHead(t), code: models.CodeInvalid,
			want: "lacks 11 tensors (mtp.layers.1."},
		{name: "heads of another size", fields: map[string]any{"head_dim": 32},
			spoil: weightsOfHead(t), code: models.CodeInvalid, want: "config.json asks for"},
		{name: "another layer layout", spoil: rename("layers.0.self_attn.q_norm.weight",
			"layers.0.linear_attn.norm.weight"), code: models.CodeInvalid,
			want: "lacks 1 tensors (mtp.layers.0.self_attn.q_norm.weight) and has unexpected 1 tensors"},
		{name: "cut short", spoil: func(dir string) error {
			return os.Truncate(filepath.Join(dir, "model.safetensors"), 100_000)
		}, code: models.CodeIncomplete, want: "model.safetensors: the file is cut short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := enginetest.TinyHead(t, c.fields)
			if c.spoil != nil {
				if err := c.spoil(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{}, models.Options{})
			e, ok := errors.AsType[*models.Error](err)
			if !ok {
				t.Fatalf("err = %v", err)
			}
			if e.Code != c.code {
				t.Errorf("e.Code = %v, want %v", e.Code, c.code)
			}
			if !strings.HasPrefix(err.Error(), dir+": ") {
				t.Errorf("err.Error() = %q, want it to start with the folder", err.Error())
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("err.Error() = %q, want it to have %q", err.Error(), c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("err.Error() = %q, want none of %q", err.Error(), "\n")
			}
		})
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d over refused heads", before, after)
	}
	// A head can't be loaded as a model either.
	_, err := models.Load(t.Context(), th, enginetest.TinyHead(t, nil), models.Options{})
	if err == nil || !strings.Contains(err.Error(), "is a drafter (qwen3_5_mtp)") {
		t.Errorf("loaded as a model: %v", err)
	}
}

// weightsOfHead puts the weights of a usual head beside the config at hand.
func weightsOfHead(t *testing.T) func(dir string) error {
	return func(dir string) error {
		const file = "model.safetensors"
		data, err := os.ReadFile(filepath.Join(enginetest.TinyHead(t, nil), file))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, file), data, 0o600)
	}
}

// TestHeadIsFoundInEachPlace loads the same head from its own folder, and from each place where a
// model's folder may have it.
func TestHeadIsFoundInEachPlace(t *testing.T) {
	th := enginetest.NewThread(t)
	for name, place := range map[string]func(dir string){
		"beside the weights": func(dir string) { enginetest.AddTinyHead(t, dir) },
		"in a folder": func(dir string) {
			enginetest.AddTinyHead(t, dir)
			in := filepath.Join(dir, "mtp")
			if err := errors.Join(os.Mkdir(in, 0o700), os.Rename(filepath.Join(dir,
				"mtp.safetensors"), filepath.Join(in, "model.safetensors"))); err != nil {
				t.Fatal(err)
			}
		},
		"among the weights": func(dir string) {
			enginetest.AddTinyHead(t, dir)
			if err := os.Rename(filepath.Join(dir, "model.safetensors"),
				filepath.Join(dir, "model-00001.safetensors")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "mtp.safetensors"),
				filepath.Join(dir, "model-00002.safetensors")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := enginetest.TinyModel(t, "qwen3_5")
			if _, err := measureHead(dir); err == nil {
				t.Fatal("a model without a head has one")
			}
			place(dir)
			if _, err := measureHead(dir); err != nil {
				t.Fatal("its head is not found:", err)
			}
			b, err := models.Load(t.Context(), th, dir, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
				models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if d.Head == nil || d.Info.Architecture != "qwen3_5_mtp" ||
				d.Info.FileBytes != 4*d.Info.Parameters {
				t.Errorf("%+v", d.Info)
			}
		})
	}
}

// TestOtherModelWithAHeadDraftsAsAModel expects that a model of the same width lends a target of
// other layers no head.
func TestOtherModelWithAHeadDraftsAsAModel(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "qwen3_5")
	defer b.Close()
	dir := enginetest.TinyModel(t, "qwen3_5", map[string]any{"num_hidden_layers": 8})
	enginetest.AddTinyHead(t, dir)
	d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Head != nil || d.Model == nil {
		t.Errorf("it drafts with the head: %+v", d.Info)
	}
}

// TestUnfitAssistantIsRefused expects an error of one sentence and no memory left in use.
func TestUnfitAssistantIsRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "gemma3_text")
	defer b.Close()
	full := loadTiny(t, th, "qwen3")
	defer full.Close()
	before := th.Memory().Active
	const other = ": take the assistant published for this model"
	for _, c := range []struct {
		name   string
		target *models.Bundle
		width  int
		fields map[string]any
		spoil  func(dir string) error
		want   string
	}{
		{name: "hidden width", width: 32,
			want: "with 32 hidden elements, and this one has 64" + other},
		{name: "vocabulary", fields: map[string]any{"vocab_size": 300},
			want: "with 300 tokens of vocabulary, and this one has 260" + other},
		{name: "no window", target: full,
			want: "attends a layer of type sliding_attention, and this model has none" + other},
		{name: "heads of another size", fields: map[string]any{"global_head_dim": 32},
			want: "layer 1 has 4 heads of 32 elements, and the model's layer of type full_attention has 2 keys of 16" + other},
		{name: "keys of its own", spoil: rename("model.layers.0.self_attn.q_norm.weight",
			"model.layers.0.self_attn.k_norm.weight"),
			want: "lacks 1 tensors (model.layers.0.self_attn.q_norm.weight) and has unexpected 1 tensors"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := enginetest.TinyAssistant(t, cmp.Or(c.width, 64), c.fields)
			if c.spoil != nil {
				if err := c.spoil(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := models.LoadDrafter(t.Context(), cmp.Or(c.target, b), dir,
				models.DrafterSettings{}, models.Options{})
			e, ok := errors.AsType[*models.Error](err)
			if !ok || e.Code != models.CodeInvalid || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d over refused assistants", before, after)
	}
}
