package models_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// families are one recorded model of each, all with a tied head.
var families = []string{"llama", "qwen3", "qwen35", "gemma3"}

// rewrite changes the names of the weights. It drops those for which rename returns "", and adds
// zeros of the shapes in more.
func rewrite(t *testing.T, th *mlx.Thread, files fstest.MapFS, rename func(string) string,
	more map[string][]int) {
	t.Helper()
	data := files["model.safetensors"].Data
	ts, err := mlx.OpenTensors(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		var arrays []mlx.NamedArray
		for _, name := range ts.Names() {
			if to := rename(name); to != "" {
				arrays = append(arrays, mlx.NamedArray{Name: to, Array: ts.Load(s, name)})
			}
		}
		for name, shape := range more {
			arrays = append(arrays, mlx.NamedArray{Name: name, Array: s.Zeros(mlx.BFloat16, shape...)})
		}
		return s.WriteTensors(&file, arrays, nil)
	})
	files["model.safetensors"] = &fstest.MapFile{Data: file.Bytes()}
}

// lastLogits loads a model and returns its logits after a short text.
func lastLogits(t *testing.T, th *mlx.Thread, files fstest.MapFS) []float32 {
	t.Helper()
	return logitsAfter(t, th, files, []int32{3, 1, 4, 1, 5, 9}, 6)
}

// logitsAfter loads a model and returns its logits after a text that is read in chunks.
func logitsAfter(t *testing.T, th *mlx.Thread, files fstest.MapFS, text []int32,
	chunk int) []float32 {
	t.Helper()
	b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	caches := b.Model.NewCaches(cache.Options{})
	defer freeCaches(t, th, caches)
	rows := forward(t, th, b.Model, caches, text, chunk)
	return rows[len(rows)-1]
}

func asIs(name string) string { return name }

// bare returns a tensor's name without any prefix.
func bare(name string) string {
	name = strings.TrimPrefix(name, "language_model.")
	return strings.TrimPrefix(name, "model.")
}

// TestBothSpellingsOfNamesLoadInEveryFamily expects the same model from every form in which
// checkpoints wrap the names of the text half. The load leaves out the weights of other halves.
func TestBothSpellingsOfNamesLoadInEveryFamily(t *testing.T) {
	th := enginetest.NewThread(t)
	seen := map[string][]int{"vision_tower.encoder.weight": {4, 4},
		"model.vision_tower.encoder.weight": {4, 4}, "model.visual.merger.weight": {4},
		"multi_modal_projector.weight": {2}, "model.multi_modal_projector.mm_norm.weight": {2},
		"model.audio_tower.x.weight": {2}, "visual.blocks.0.weight": {2}}
	for _, family := range families {
		want := lastLogits(t, th, recorded(t, family))
		for _, prefix := range []string{"model.", "model.language_model.", "language_model.model.",
			"model.language_model.model.", "model.text_model.", ""} {
			files := recorded(t, family)
			rewrite(t, th, files, func(name string) string { return prefix + bare(name) }, seen)
			if got := lastLogits(t, th, files); !slices.Equal(got, want) {
				t.Errorf("%s with names like %slayers: other logits", family, prefix)
			}
		}
	}
}

// TestQuantizedModulesAreFoundByEitherSpelling expects the section quantization to count, whatever
// prefix its modules have there.
func TestQuantizedModulesAreFoundByEitherSpelling(t *testing.T) {
	th := enginetest.NewThread(t)
	want := lastLogits(t, th, recorded(t, "llama-4bit-untied"))
	for _, prefix := range []string{"model.language_model.", "language_model.model."} {
		files := recorded(t, "llama-4bit-untied")
		rewrite(t, th, files, func(name string) string {
			if strings.HasPrefix(name, "lm_head.") {
				return "language_model." + name
			}
			return prefix + bare(name)
		}, nil)
		if got := lastLogits(t, th, files); !slices.Equal(got, want) {
			t.Errorf("names like %slayers: other logits", prefix)
		}
	}
}

// setTie says in config.json whether the head is tied; nil says nothing. A model that has a
// text_config says it there.
func setTie(files fstest.MapFS, tie any) {
	setConfig(files, map[string]any{"tie_word_embeddings": tie})
}

// TestHeadIsTiedAsConfigSaysOrElseAsTheFileHasIt tries what config.json says against a checkpoint
// with and without a head, in every family.
func TestHeadIsTiedAsConfigSaysOrElseAsTheFileHasIt(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, family := range families {
		tied := lastLogits(t, th, recorded(t, family))
		zeros := make([]float32, len(tied)) // those of a head of zeros
		for _, c := range []struct {
			said any // nil = absent
			head string
			want []float32 // nil = refused
		}{
			{true, "lm_head.weight", tied},
			{true, "", tied},
			{nil, "lm_head.weight", zeros},
			{nil, "model.lm_head.weight", zeros},
			{nil, "language_model.lm_head.weight", zeros},
			{nil, "", tied},
			{false, "lm_head.weight", zeros},
			{false, "language_model.lm_head.weight", zeros},
			{false, "", nil},
		} {
			t.Run(fmt.Sprintf("%s/%v/%s", family, c.said, c.head), func(t *testing.T) {
				files := recorded(t, family)
				setTie(files, c.said)
				if c.head != "" {
					rewrite(t, th, files, asIs, map[string][]int{c.head: {len(tied), 64}})
				}
				if c.want == nil {
					_, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
					if err == nil || !strings.Contains(err.Error(), "lacks 1 tensors (lm_head.weight)") {
						t.Errorf("got %v, want an error that names the head", err)
					}
					return
				}
				if got := lastLogits(t, th, files); !slices.Equal(got, c.want) {
					t.Error("other logits")
				}
			})
		}
	}
}

// nest moves config.json into a text_config of a model of another type.
func nest(t *testing.T, files fstest.MapFS, modelType string, outer map[string]any) {
	t.Helper()
	var text map[string]any
	if err := json.Unmarshal(files["config.json"].Data, &text); err != nil {
		t.Fatal(err)
	}
	config := map[string]any{"model_type": modelType, "text_config": text,
		"vocab_size": text["vocab_size"]}
	files["config.json"] = &fstest.MapFile{Data: []byte("{}")}
	setConfig(files, config)
	setConfig(files, outer)
}

// TestNestedConfigTiesTheHead expects text_config's word, or else the outer one.
func TestNestedConfigTiesTheHead(t *testing.T) {
	th := enginetest.NewThread(t)
	for family, modelType := range map[string]string{"gemma3": "gemma3", "qwen35": "qwen3_5"} {
		tied := lastLogits(t, th, recorded(t, family))
		zeros := make([]float32, len(tied))
		for _, c := range []struct {
			inner, outer any
			want         []float32
		}{
			{nil, nil, zeros}, {nil, true, tied}, {nil, false, zeros},
			{true, nil, tied}, {true, false, tied}, {false, true, zeros},
		} {
			files := recorded(t, family)
			setTie(files, c.inner)
			nest(t, files, modelType, map[string]any{"tie_word_embeddings": c.outer})
			rewrite(t, th, files, asIs, map[string][]int{"lm_head.weight": {len(tied), 64}})
			if got := lastLogits(t, th, files); !slices.Equal(got, c.want) {
				t.Errorf("%s, %v in text_config, %v outside: other logits", family, c.inner, c.outer)
			}
		}
	}
}

// TestContextIsTheLargerOfBothLengths expects what a yarn stretches to, where that is more.
func TestContextIsTheLargerOfBothLengths(t *testing.T) {
	th := enginetest.NewThread(t)
	yarn := map[string]any{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 256}
	full := func(section any) any {
		return map[string]any{"full_attention": section, "sliding_attention": map[string]any{}}
	}
	for _, family := range families {
		for _, c := range []struct {
			name   string
			fields map[string]any
			want   int
		}{
			{"yarn", map[string]any{"rope_scaling": yarn}, 1024},
			{"newer form", map[string]any{"rope_parameters": yarn, "rope_theta": 1e4}, 1024},
			{"stretched already", map[string]any{"rope_scaling": yarn, "max_position_embeddings": 2000}, 2000},
			{"yarn without an original length", map[string]any{"rope_scaling": map[string]any{"type": "yarn", "factor": 4}}, 320},
			{"llama3", map[string]any{"rope_scaling": map[string]any{"type": "llama3", "factor": 32,
				"original_max_position_embeddings": 256}}, 320},
			{"none", nil, 320},
		} {
			files := recorded(t, family)
			setConfig(files, map[string]any{"max_position_embeddings": 320, "rope_parameters": nil,
				"rope_theta": 1e4})
			if family == "gemma3" && c.fields["rope_parameters"] != nil {
				c.fields["rope_parameters"] = full(yarn)
			}
			setConfig(files, c.fields)
			b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
			if err != nil {
				t.Errorf("%s, %s: %v", family, c.name, err)
				continue
			}
			if got := b.Model.Config().ContextLength; got != c.want || b.Info.ContextLength != c.want {
				t.Errorf("%s, %s: context of %d, want %d", family, c.name, got, c.want)
			}
			b.Close()
		}
	}
}

// TestAttentionFactorChangesTheAnswer expects attention_factor 1.0 to mean what two equal mscales
// mean, and not what the factor alone does, in every family.
func TestAttentionFactorChangesTheAnswer(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, family := range families {
		with := func(more map[string]any) []float32 {
			yarn := map[string]any{"rope_type": "yarn", "factor": 8,
				"original_max_position_embeddings": 64, "beta_fast": 8}
			for key, value := range more {
				yarn[key] = value
			}
			files := recorded(t, family)
			setConfig(files, map[string]any{"rope_parameters": nil, "rope_scaling": yarn,
				"rope_theta": 1e4})
			return lastLogits(t, th, files)
		}
		plain := with(nil)
		one := with(map[string]any{"attention_factor": 1.0})
		if slices.Equal(one, plain) {
			t.Errorf("%s: attention_factor is not read", family)
		}
		if !slices.Equal(one, with(map[string]any{"mscale": 1, "mscale_all_dim": 1})) {
			t.Errorf("%s: attention_factor 1.0 is not 1", family)
		}
		if slices.Equal(plain, with(map[string]any{"beta_slow": 4})) {
			t.Errorf("%s: beta_slow is not read", family)
		}
	}
}
