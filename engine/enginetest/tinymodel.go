package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

// tinyConfig is what the tiny models of all architectures have in common. The
// vocabulary is that of ByteTokenizer with room to spare.
var tinyConfig = map[string]any{
	"vocab_size":              260,
	"hidden_size":             64,
	"num_hidden_layers":       3,
	"intermediate_size":       128,
	"num_attention_heads":     4,
	"num_key_value_heads":     2,
	"head_dim":                16,
	"rms_norm_eps":            1e-6,
	"rope_theta":              10000.0,
	"max_position_embeddings": 4096,
	"tie_word_embeddings":     true,
	"eos_token_id":            256,
}

// tinyArchitectures is what each model_type has beside tinyConfig.
var tinyArchitectures = map[string]map[string]any{
	"llama": {},
	"qwen3": {},
	"qwen3_5": {
		"full_attention_interval": 2,
		"linear_num_value_heads":  4,
		"linear_num_key_heads":    2,
		"linear_key_head_dim":     16,
		"linear_value_head_dim":   16,
		"linear_conv_kernel_dim":  4,
		"partial_rotary_factor":   0.5,
	},
	"gemma3_text": {
		"query_pre_attn_scalar":  16,
		"rope_local_base_freq":   10000.0,
		"sliding_window":         16,
		"sliding_window_pattern": 3,
	},
}

// tinyTemplate is a chat template of plain lines.
const tinyTemplate = `{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}`

// TinyModel writes the folder of a small random model and returns its path. The folder lies below
// t's own. modelType is its model_type: llama, qwen3, qwen3_5 or gemma3_text. The folder has
// config.json, model.safetensors in float32, tokenizer.json and a chat template. Its answers are
// noise, the same every time. fields replace or add fields of its config.json; sizes among them
// change the weights too.
func TinyModel(t testing.TB, modelType string, fields ...map[string]any) string {
	t.Helper()
	more, ok := tinyArchitectures[modelType]
	if !ok {
		t.Fatalf("enginetest: no tiny model of type %q", modelType)
	}
	config := map[string]any{"model_type": modelType}
	for _, from := range append([]map[string]any{tinyConfig, more}, fields...) {
		maps.Copy(config, from)
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return writeFolder(t, "tiny-"+modelType, map[string][]byte{
		"config.json":         text,
		"tokenizer.json":      ByteTokenizerJSON(),
		"chat_template.jinja": []byte(tinyTemplate),
		"model.safetensors":   tinyWeights(t, config),
	})
}

// writeFolder writes files into a folder below t's own and returns its path.
func writeFolder(t testing.TB, name string, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tinyWeights returns a safetensors file with random weights for a config.json.
func tinyWeights(t testing.TB, config map[string]any) []byte {
	t.Helper()
	size := func(name string) int { return config[name].(int) }
	modelType := config["model_type"]
	hidden, inner := size("hidden_size"), size("intermediate_size")
	q, kv := size("num_attention_heads")*size("head_dim"),
		size("num_key_value_heads")*size("head_dim")
	gemma := modelType == "gemma3_text"

	return randomTensors(t, nil, func(add addTensor) {
		norm := func(name string, dim int) {
			mean := 1.0
			if gemma {
				mean = 0 // stored around zero
			}
			add(name+".weight", mean, 0.2, dim)
		}
		// Less than the layers add, or the tied head repeats its input.
		add("model.embed_tokens.weight", 0, 0.05, size("vocab_size"), hidden)
		for i := range size("num_hidden_layers") {
			path := fmt.Sprintf("model.layers.%d.", i)
			norm(path+"input_layernorm", hidden)
			recurrent := modelType == "qwen3_5" && (i+1)%size("full_attention_interval") != 0
			if recurrent {
				add.deltaNet(path+"linear_attn.", hidden, size)
			} else {
				queries := q
				if modelType == "qwen3_5" {
					queries = 2 * q // with gates
				}
				add.linear(path+"self_attn.q_proj", queries, hidden)
				add.linear(path+"self_attn.k_proj", kv, hidden)
				add.linear(path+"self_attn.v_proj", kv, hidden)
				add.linear(path+"self_attn.o_proj", hidden, q)
			}
			norm(path+"post_attention_layernorm", hidden)
			add.linear(path+"mlp.gate_proj", inner, hidden)
			add.linear(path+"mlp.up_proj", inner, hidden)
			add.linear(path+"mlp.down_proj", hidden, inner)
			if modelType != "llama" && !recurrent {
				norm(path+"self_attn.q_norm", size("head_dim"))
				norm(path+"self_attn.k_norm", size("head_dim"))
			}
			if gemma {
				norm(path+"pre_feedforward_layernorm", hidden)
				norm(path+"post_feedforward_layernorm", hidden)
			}
		}
		norm("model.norm", hidden)
	})
}

// addTensor adds a tensor drawn from a normal distribution.
type addTensor func(name string, mean, std float64, shape ...int)

// linear adds a matrix whose products are of the size of what they map.
func (add addTensor) linear(name string, out, in int) {
	add(name+".weight", 0, 1.5/math.Sqrt(float64(in)), out, in)
}

// deltaNet adds a gated delta net, laid out as in conversions to MLX.
func (add addTensor) deltaNet(path string, hidden int, size func(string) int) {
	heads, kernel := size("linear_num_value_heads"), size("linear_conv_kernel_dim")
	values := heads * size("linear_value_head_dim")
	width := values + 2*size("linear_num_key_heads")*size("linear_key_head_dim")
	add.linear(path+"in_proj_qkv", width, hidden)
	add.linear(path+"in_proj_z", values, hidden)
	add.linear(path+"in_proj_b", heads, hidden)
	add.linear(path+"in_proj_a", heads, hidden)
	add(path+"conv1d.weight", 0, 1, width, kernel, 1)
	add(path+"A_log", 0, 0.7, heads)
	add(path+"dt_bias", 0, 0.2, heads)
	add(path+"norm.weight", 1, 0.2, size("linear_value_head_dim"))
	add.linear(path+"out_proj", hidden, values)
}

// randomTensors returns a safetensors file of the tensors that fn adds, the
// same every time. Matrices are packed as q says, unless it is nil.
func randomTensors(t testing.TB, q *mlx.Quantization, fn func(addTensor)) []byte {
	t.Helper()
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	var file bytes.Buffer
	err = th.Do(t.Context(), func(s *mlx.Scope) error {
		var tensors []mlx.NamedArray
		fn(func(name string, mean, std float64, shape ...int) {
			key := s.Key(uint64(len(tensors)))
			a := s.Normal(key, mlx.Float32, float32(mean), float32(std), shape...)
			if q == nil || len(shape) < 2 || !strings.HasSuffix(name, "weight") {
				tensors = append(tensors, mlx.NamedArray{Name: name, Array: a})
				return
			}
			words, scales, biases := s.Quantize(a, *q)
			path := strings.TrimSuffix(name, "weight")
			tensors = append(tensors, mlx.NamedArray{Name: name, Array: words},
				mlx.NamedArray{Name: path + "scales", Array: scales},
				mlx.NamedArray{Name: path + "biases", Array: biases})
		})
		return s.WriteTensors(&file, tensors, map[string]string{"format": "mlx"})
	})
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
