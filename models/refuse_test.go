package models_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"tandem/engine/enginetest"
	"tandem/models"
)

// tiny returns the files of a tiny model, to be spoiled.
func tiny(t testing.TB, arch string) fstest.MapFS {
	t.Helper()
	dir := enginetest.TinyModel(t, arch)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = &fstest.MapFile{Data: data}
	}
	return files
}

// recorded returns the files of a recorded model, to be spoiled.
func recorded(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	return openFixture(t, name).files
}

// setConfig changes fields of config.json; a nil value removes one.
func setConfig(files fstest.MapFS, fields map[string]any) {
	var config map[string]any
	if err := json.Unmarshal(files["config.json"].Data, &config); err != nil {
		panic(err)
	}
	maps.Copy(config, fields)
	maps.DeleteFunc(config, func(_ string, v any) bool { return v == nil })
	data, err := json.Marshal(config)
	if err != nil {
		panic(err)
	}
	files["config.json"] = &fstest.MapFile{Data: data}
}

// editHeader changes the JSON header of the weights and pads it to its old length.
func editHeader(files fstest.MapFS, edit func(header string) string) {
	data := files["model.safetensors"].Data
	n := binary.LittleEndian.Uint64(data)
	header := edit(string(data[8 : 8+n]))
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	files["model.safetensors"] = &fstest.MapFile{Data: slices.Concat(out, []byte(header),
		data[8+n:])}
}

// retype stores one tensor as another type and keeps so many quarters of its data.
func retype(files fstest.MapFS, tensor, dtype string, quarters int) {
	writeBack(files, tensor, dtype, func(data []byte) []byte { return data[:len(data)/4*quarters] })
}

// widen stores one tensor of bfloat16 as float32.
func widen(files fstest.MapFS, tensor string) {
	writeBack(files, tensor, "F32", func(data []byte) (wide []byte) {
		for i := 0; i < len(data); i += 2 {
			wide = append(wide, 0, 0, data[i], data[i+1])
		}
		return wide
	})
}

// writeBack stores one tensor as another type, with other data.
func writeBack(files fstest.MapFS, tensor, dtype string, edit func(data []byte) []byte) {
	data := files["model.safetensors"].Data
	n := binary.LittleEndian.Uint64(data)
	var header map[string]map[string]any
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		panic(err)
	}
	body := data[8+n:]
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if name == "__metadata__" {
			continue
		}
		offsets := header[name]["data_offsets"].([]any)
		part := body[int(offsets[0].(float64)):int(offsets[1].(float64))]
		if name == tensor {
			part = edit(part)
			header[name]["dtype"] = dtype
		}
		header[name]["data_offsets"] = []int{len(out), len(out) + len(part)}
		out = append(out, part...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	files["model.safetensors"] = &fstest.MapFile{Data: slices.Concat(file, text, out)}
}

// shard moves the weights into one shard with an index over it.
func shard(files fstest.MapFS, index string) {
	files["model-00001-of-00002.safetensors"] = files["model.safetensors"]
	delete(files, "model.safetensors")
	files["model.safetensors.index.json"] = &fstest.MapFile{Data: []byte(index)}
}

// TestDamagedModelIsRefused expects an error of one line with a code, and no memory left in use.
func TestDamagedModelIsRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	good := tiny(t, "llama")
	gemma := tiny(t, "gemma3_text")
	set := func(fields map[string]any) func(fstest.MapFS) {
		return func(files fstest.MapFS) { setConfig(files, fields) }
	}
	header := func(old, new string) func(fstest.MapFS) {
		return func(files fstest.MapFS) {
			editHeader(files, func(h string) string {
				if !strings.Contains(h, old) {
					t.Fatalf("the header has no %q", old)
				}
				return strings.Replace(h, old, new, 1)
			})
		}
	}
	stored := func(tensor, dtype string, quarters int) func(fstest.MapFS) {
		return func(files fstest.MapFS) { retype(files, tensor, dtype, quarters) }
	}
	packed := recorded(t, "llama-8bit")
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		spoil func(fstest.MapFS)
		code  models.Code
		want  string
	}{
		{"no config", good, func(f fstest.MapFS) { delete(f, "config.json") }, models.CodeIncomplete, "no config.json"},
		{"config not json", good, func(f fstest.MapFS) { f["config.json"] = &fstest.MapFile{Data: []byte("<html>")} }, models.CodeInvalid, "config.json"},
		{"unknown architecture", good, set(map[string]any{"model_type": "mamba9"}), models.CodeUnsupported, `"mamba9" in config.json is not supported; supported are gemma3, gemma3_text, `},
		{"no architecture", good, set(map[string]any{"model_type": nil}), models.CodeUnsupported, "config.json has no model_type, so"},
		{"no tokenizer", good, func(f fstest.MapFS) { delete(f, "tokenizer.json") }, models.CodeIncomplete, "tokenizer.json is missing"},
		{"unknown tokenizer", good, func(f fstest.MapFS) {
			f["tokenizer.json"] = &fstest.MapFile{Data: []byte(`{"version":"1.0","model":{"type":"Unigram"}}`)}
		}, models.CodeUnsupported, "Unigram"},
		{"pickled weights", good, func(f fstest.MapFS) {
			delete(f, "model.safetensors")
			f["pytorch_model.bin"] = &fstest.MapFile{}
		}, models.CodeUnsupported, "its weights are pickled (.bin), which Tandem does not read"},
		{"pickled weights and no tokenizer", good, func(f fstest.MapFS) {
			delete(f, "model.safetensors")
			delete(f, "tokenizer.json")
			f["pytorch_model-00001-of-00002.bin"] = &fstest.MapFile{}
		}, models.CodeUnsupported, "its weights are pickled (.bin), which Tandem does not read"},
		{"no weights", good, func(f fstest.MapFS) { delete(f, "model.safetensors") }, models.CodeIncomplete, "model.safetensors is missing; copy it into the folder, or download the model again"},
		{"generation config", good, func(f fstest.MapFS) { f["generation_config.json"] = &fstest.MapFile{Data: []byte(`{"top_k": 3`)} }, models.CodeInvalid, "generation_config.json"},

		{"absurd hidden", good, set(map[string]any{"hidden_size": 1 << 40}), models.CodeInvalid, "hidden_size is 1099511627776"},
		{"absurd layers", good, set(map[string]any{"num_hidden_layers": 1e9}), models.CodeInvalid, "num_hidden_layers"},
		{"negative vocab", good, set(map[string]any{"vocab_size": -1}), models.CodeInvalid, "vocab_size is -1"},
		{"no heads", good, set(map[string]any{"num_attention_heads": 0}), models.CodeInvalid, "num_attention_heads"},
		{"odd groups", good, set(map[string]any{"num_key_value_heads": 3}), models.CodeInvalid, "can't share"},
		{"text for number", good, set(map[string]any{"hidden_size": "64"}), models.CodeInvalid, "config.json"},
		{"odd head", good, set(map[string]any{"head_dim": 15}), models.CodeInvalid, "rotary"},
		{"negative theta", good, set(map[string]any{"rope_theta": -1}), models.CodeInvalid, "rope_theta"},
		{"rope type", good, set(map[string]any{"rope_scaling": map[string]any{"rope_type": "longrope", "factor": 2}}), models.CodeUnsupported, `"longrope" is not supported; supported are default, linear, llama3, proportional and yarn`},
		{"rope type without factor", good, set(map[string]any{"rope_scaling": map[string]any{"type": "longrope", "short_factor": []float64{1}}}), models.CodeUnsupported, `rope type "longrope" is not supported`},
		{"other rope type", gemma, set(map[string]any{"rope_scaling": map[string]any{"rope_type": "dynamic"}}), models.CodeUnsupported, `rope type "dynamic" is not supported`},
		{"rope key", good, set(map[string]any{"rope_parameters": map[string]any{"rope_type": "yarn", "factor": 4, "llama_4_scaling_beta": 0.1}}), models.CodeUnsupported, `"llama_4_scaling_beta" of a rotary embedding is not supported`},
		{"rope key without scaling", good, set(map[string]any{"rope_scaling": map[string]any{"rope_type": "default", "alpha": 2}}), models.CodeUnsupported, `"alpha" of a rotary embedding`},
		{"rope key of gemma", gemma, set(map[string]any{"rope_parameters": map[string]any{"full_attention": map[string]any{"rope_type": "linear", "factor": 8, "alpha": 2}}}), models.CodeUnsupported, `"alpha" of a rotary embedding`},
		{"rope section of gemma", gemma, set(map[string]any{"rope_parameters": map[string]any{"full_attention": map[string]any{}, "chunked_attention": map[string]any{}}}), models.CodeUnsupported, `"chunked_attention" in rope_parameters`},
		{"rope value", good, set(map[string]any{"rope_scaling": map[string]any{"rope_type": "yarn", "factor": 4, "attention_factor": 0}}), models.CodeInvalid, "attention_factor of a rotary embedding is 0"},
		{"heads rotated in part", good, set(map[string]any{"rope_scaling": map[string]any{"rope_type": "default", "partial_rotary_factor": 0.5}}), models.CodeUnsupported, "partial_rotary_factor 0.5 is not supported"},
		{"absurd stretch", good, set(map[string]any{"rope_scaling": map[string]any{"rope_type": "yarn", "factor": 1e9, "original_max_position_embeddings": 4096}}), models.CodeInvalid, "max_position_embeddings is 67108865"},
		{"large config", good, func(f fstest.MapFS) {
			f["config.json"] = &fstest.MapFile{Data: []byte("{" + strings.Repeat(" ", 4<<20) + "}")}
		}, models.CodeInvalid, "config.json is larger than 4 MiB"},
		{"large generation config", good, func(f fstest.MapFS) {
			f["generation_config.json"] = &fstest.MapFile{Data: []byte("{" + strings.Repeat(" ", 4<<20) + "}")}
		}, models.CodeInvalid, "generation_config.json is larger than 4 MiB"},
		{"large tokenizer config", good, func(f fstest.MapFS) {
			f["tokenizer_config.json"] = &fstest.MapFile{Data: []byte("{" + strings.Repeat(" ", 16<<20) + "}")}
		}, models.CodeInvalid, "tokenizer_config.json is larger than 16 MiB"},
		{"rope factor", good, set(map[string]any{"rope_scaling": map[string]any{"rope_type": "linear"}}), models.CodeInvalid, "factor"},
		{"activation", good, set(map[string]any{"hidden_act": "relu"}), models.CodeUnsupported, `"relu" is not supported`},
		{"layer types", good, set(map[string]any{"layer_types": []string{"full_attention"}}), models.CodeInvalid, "1 layers of 3"},
		{"layer type", good, set(map[string]any{"layer_types": []string{"full_attention", "mamba", "full_attention"}}), models.CodeUnsupported, `"mamba"`},
		{"no window", good, set(map[string]any{"layer_types": []string{"full_attention", "sliding_attention", "full_attention"}}), models.CodeInvalid, "sliding_window is 0"},
		{"gemma window", gemma, set(map[string]any{"sliding_window": 0}), models.CodeInvalid, "sliding_window is 0"},
		{"gemma scalar", gemma, set(map[string]any{"query_pre_attn_scalar": 0}), models.CodeInvalid, "query_pre_attn_scalar"},
		{"gemma softcap", gemma, set(map[string]any{"final_logit_softcapping": 30}), models.CodeUnsupported, "softcapping"},
		{"no epsilon", good, set(map[string]any{"rms_norm_eps": 0}), models.CodeInvalid, "rms_norm_eps is 0, not above 0"},
		{"absurd window", good, set(map[string]any{"layer_types": []string{"full_attention", "sliding_attention", "full_attention"}, "sliding_window": 1 << 40}), models.CodeInvalid, "sliding_window is 1099511627776"},
		{"mistral window", good, set(map[string]any{"model_type": "mistral", "sliding_window": -1}), models.CodeInvalid, "sliding_window is -1"},
		{"gemma epsilon", gemma, set(map[string]any{"rms_norm_eps": -1e-6}), models.CodeInvalid, "rms_norm_eps is -1e-06, not above 0"},
		{"gemma encoder", gemma, set(map[string]any{"use_bidirectional_attention": true}), models.CodeUnsupported, "use_bidirectional_attention"},
		{"gemma scaled window", gemma, set(map[string]any{"rope_parameters": map[string]any{"sliding_attention": map[string]any{"rope_type": "linear", "factor": 8}}}), models.CodeUnsupported, `rope type "linear" of sliding_attention`},
		{"gemma flat rope", gemma, set(map[string]any{"rope_parameters": map[string]any{"rope_type": "linear", "factor": 8}}), models.CodeInvalid, "neither full_attention nor sliding_attention"},
		{"gptq", good, set(map[string]any{"quantization_config": map[string]any{"quant_method": "gptq", "bits": 4}}), models.CodeUnsupported, `"gptq"`},

		{"one layer more", good, set(map[string]any{"num_hidden_layers": 4}), models.CodeInvalid, "lacks 9 tensors (model.layers.3.self_attn.q_proj.weight, "},
		{"one layer less", good, set(map[string]any{"num_hidden_layers": 2}), models.CodeInvalid, "has unexpected 9 tensors (model.layers.2.input_layernorm.weight, "},
		{"head expected", good, set(map[string]any{"tie_word_embeddings": false}), models.CodeInvalid, "lacks 1 tensors (lm_head.weight)"},
		{"biases expected", good, set(map[string]any{"mlp_bias": true}), models.CodeInvalid, "lacks 9 tensors (model.layers.0.mlp.gate_proj.bias, "},
		{"other shape", good, set(map[string]any{"intermediate_size": 64}), models.CodeInvalid, "model.layers.0.mlp.gate_proj.weight has shape [128 64], config.json asks for [64 64]"},
		{"renamed tensor", good, header(`"model.norm.weight"`, `"model.Norm.weight"`), models.CodeInvalid, "lacks 1 tensors (model.norm.weight) and has unexpected 1 tensors (model.Norm.weight)"},
		{"float8", good, stored("model.layers.1.mlp.up_proj.weight", "F8_E4M3", 1), models.CodeUnsupported, "model.layers.1.mlp.up_proj.weight is of type F8_E4M3; supported is F16, BF16, F32"},
		{"integer matrix", good, stored("model.layers.1.mlp.up_proj.weight", "U32", 4), models.CodeUnsupported, "model.layers.1.mlp.up_proj.weight is of type U32"},
		{"integer embedding", good, stored("model.embed_tokens.weight", "I32", 4), models.CodeUnsupported, "model.embed_tokens.weight is of type I32"},
		{"integer norm", good, stored("model.norm.weight", "U32", 4), models.CodeUnsupported, "model.norm.weight is of type U32"},
		{"boolean norm", good, stored("model.layers.0.input_layernorm.weight", "BOOL", 1), models.CodeUnsupported, "is of type BOOL"},
		{"signed packed matrix", packed, stored("model.layers.0.mlp.down_proj.weight", "I32", 4), models.CodeUnsupported, "is quantized in a way that is not supported (I32 weight, BF16 scales)"},
		{"integer scales", packed, stored("model.layers.0.mlp.down_proj.scales", "U16", 4), models.CodeUnsupported, "is quantized in a way that is not supported (U32 weight, U16 scales)"},
		{"integer biases", packed, stored("model.layers.0.mlp.down_proj.biases", "I16", 4), models.CodeUnsupported, "model.layers.0.mlp.down_proj.biases is of type I16"},
		{"scales of nothing", good, header(`"model.layers.0.mlp.up_proj.weight"`, `"model.layers.0.mlp.up_proj.scales"`), models.CodeInvalid, "lacks"},
		{"scales of a float", good, header(`"model.layers.0.input_layernorm.weight"`, `"model.layers.0.mlp.gate_proj.scales"`), models.CodeUnsupported, "model.layers.0.mlp.gate_proj is quantized in a way"},
		{"truncated", good, func(f fstest.MapFS) {
			data := f["model.safetensors"].Data
			f["model.safetensors"] = &fstest.MapFile{Data: data[:len(data)-1000]}
		}, models.CodeIncomplete,
			"model.safetensors: the file is cut short: 1000 bytes are missing; download it again"},
		{"hostile header", good, header(`"data_offsets":[0,`, `"data_offsets":[8,`), models.CodeInvalid, "model.safetensors: the safetensors header is damaged"},
		{"not regular", good, func(f fstest.MapFS) { f["model.safetensors"] = &fstest.MapFile{Mode: fs.ModeDir} }, models.CodeInvalid, "model.safetensors is not a regular file"},

		{"index outside", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{"a":"../../etc/model.safetensors"}}`) }, models.CodeInvalid, `"../../etc/model.safetensors", which is no safetensors file in the model's folder`},
		{"index absolute", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{"a":"/etc/model.safetensors"}}`) }, models.CodeInvalid, "no safetensors file in"},
		{"index subfolder", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{"a":"x/model.safetensors"}}`) }, models.CodeInvalid, "no safetensors file in"},
		{"index backslash", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{"a":"x\\model.safetensors"}}`) }, models.CodeInvalid, "no safetensors file in"},
		{"index of other file", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{"a":"config.json"}}`) }, models.CodeInvalid, "no safetensors file in"},
		{"index twice", good, func(f fstest.MapFS) {
			shard(f, `{"weight_map":{"a":"model-00001-of-00002.safetensors","a":"model-00002-of-00002.safetensors"}}`)
		}, models.CodeInvalid, `tensor "a" is named twice`},
		{"index empty", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{}}`) }, models.CodeInvalid, "empty"},
		{"index without map", good, func(f fstest.MapFS) { shard(f, `{}`) }, models.CodeInvalid, "no weight_map"},
		{"index number", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{"a":3}}`) }, models.CodeInvalid, "no file name"},
		{"missing shard", good, func(f fstest.MapFS) {
			shard(f, `{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`)
		}, models.CodeIncomplete,
			"model-00002-of-00002.safetensors is missing; copy it into the folder, or download the model again"},
		{"tensor not in its shard", good, func(f fstest.MapFS) { shard(f, `{"weight_map":{"a":"model-00001-of-00002.safetensors"}}`) }, models.CodeInvalid, "lacks tensor a"},
		{"tensor in two shards", good, func(f fstest.MapFS) {
			shard(f, `{"weight_map":{"model.norm.weight":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`)
			f["model-00002-of-00002.safetensors"] = f["model-00001-of-00002.safetensors"]
		}, models.CodeInvalid, "which another shard has too"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(c.files)
			c.spoil(files)
			_, err := models.OpenFS(files, "org/name").Load(t.Context(), th, models.Options{})
			e, ok := errors.AsType[*models.Error](err)
			if !ok {
				t.Fatalf("err = %v", err)
			}
			if e.Code != c.code {
				t.Errorf("e.Code = %v, want %v", e.Code, c.code)
			}
			if !strings.HasPrefix(err.Error(), "org/name: ") {
				t.Errorf(`err.Error() = %q, want it to start with "org/name: "`, err.Error())
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("err.Error() = %q, want it to have %q", err.Error(), c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("err.Error() = %q, want none of %q", err.Error(), "\n")
			}
			// a model that is listed as fine can be loaded
			if _, of := models.OpenFS(files, "org/name").Summary(); fmt.Sprint(of) != fmt.Sprint(err) {
				t.Errorf("inspecting it gives %v, loading it %v", of, err)
			}
		})
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d over refused models", before, after)
	}
	// Only copies were spoilt. The thread still loads the good model.
	b, err := models.OpenFS(good, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}

// TestRotatedNeighboursAreRefused expects an error that names rope_traditional, for each family that
// mlx_lm rotates by halves whatever config.json says.
func TestRotatedNeighboursAreRefused(t *testing.T) {
	for _, name := range []string{"gemma3", "glimmer", "gpt-oss", "granite", "lfm2", "ministral3",
		"phi3-long", "qwen3", "qwen3-moe", "qwen3-next", "qwen35"} {
		files := recorded(t, name)
		setConfig(files, map[string]any{"rope_traditional": true})
		_, err := models.OpenFS(files, name).Summary()
		if e, ok := errors.AsType[*models.Error](err); !ok || e.Code != models.CodeUnsupported ||
			!strings.Contains(err.Error(), "rope_traditional is not supported") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMissingFolderIsRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "there is no such folder",
		file:                       "is not a folder",
		dir:                        "has no config.json",
	} {
		if _, err := models.Load(t.Context(), th, path, models.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// TestKnownUnneededTensorsAreIgnored loads checkpoints with tensors that are known to be left over.
func TestKnownUnneededTensorsAreIgnored(t *testing.T) {
	th := enginetest.NewThread(t)
	files := tiny(t, "llama")
	rewrite(t, th, files, asIs, map[string][]int{
		"model.layers.0.self_attn.rotary_emb.inv_freq": {8}, "lm_head.weight": {260, 64}})
	b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}

// A message names what a file calls a thing, however long, and stays one line.
func TestMessagesAreOneLine(t *testing.T) {
	long := strings.Repeat("x\n\x1b", 1<<16)
	for i, change := range []func(files fstest.MapFS){
		func(files fstest.MapFS) { setConfig(files, map[string]any{"model_type": long}) },
		func(files fstest.MapFS) { setConfig(files, map[string]any{"hidden_act": long}) },
		func(files fstest.MapFS) {
			setConfig(files, map[string]any{"quantization": map[string]any{"mode": long, "bits": 4}})
		},
		func(files fstest.MapFS) {
			setConfig(files, map[string]any{"architectures": []string{long + "DraftModel"}})
		},
		func(files fstest.MapFS) {
			name, _ := json.Marshal(long)
			files["tokenizer.json"] = &fstest.MapFile{
				Data: fmt.Appendf(nil, `{"model":{"type":%s}}`, name)}
		},
	} {
		files := recorded(t, "llama")
		change(files)
		_, err := models.OpenFS(files, "M").Summary()
		if err == nil || len(err.Error()) > 1100 || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("change %d: the error is %.1200q", i, fmt.Sprint(err))
		}
	}
}
