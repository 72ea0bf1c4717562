package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"tandem/engine/mlx"
)

// A randomShape holds the sizes of a random model in the form of Qwen3.
type randomShape struct {
	hidden, inner, layers, heads, kvHeads, headDim, vocab int
}

// largeShape has 103M parameters: its steps on a CPU are bound by memory, as in real models are.
// smallShape is for trying a bench out.
var (
	largeShape = randomShape{hidden: 640, inner: 2560, layers: 12, heads: 10, kvHeads: 2,
		headDim: 128, vocab: 32000}
	smallShape = randomShape{hidden: 64, inner: 128, layers: 2, heads: 4, kvHeads: 2, headDim: 16,
		vocab: 1000}
)

// randomTokenizer is for a random model, which gets token ids only.
const randomTokenizer = `{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`

// write writes a model in bfloat16 into dir, and returns how many parameters it has. Its weights
// are noise, the same every time.
func (m randomShape) write(ctx context.Context, dir string) (parameters int, err error) {
	config, err := json.Marshal(map[string]any{
		"model_type": "qwen3", "architectures": []string{"Qwen3ForCausalLM"},
		"hidden_size": m.hidden, "intermediate_size": m.inner, "num_hidden_layers": m.layers,
		"num_attention_heads": m.heads, "num_key_value_heads": m.kvHeads, "head_dim": m.headDim,
		"vocab_size":   m.vocab,
		"rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 32768,
		"tie_word_embeddings": true, "torch_dtype": "bfloat16",
	})
	if err != nil {
		return 0, err
	}
	for name, text := range map[string][]byte{"config.json": config,
		"tokenizer.json": []byte(randomTokenizer)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return 0, err
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "model.safetensors"),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	thread, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, thread.Close()) }()
	err = thread.Do(ctx, func(s *mlx.Scope) error {
		var tensors []mlx.NamedArray
		add := func(name string, std float64, shape ...int) {
			n := 1
			for _, dim := range shape {
				n *= dim
			}
			parameters += n
			drawn := s.Normal(s.Key(uint64(len(tensors))), mlx.Float32, 0, float32(std), shape...)
			tensors = append(tensors, mlx.NamedArray{Name: name + ".weight",
				Array: s.AsType(drawn, mlx.BFloat16)})
		}
		m.tensors(add)
		w := bufio.NewWriterSize(f, 1<<20)
		err := s.WriteTensors(w, tensors, map[string]string{"format": "mlx"})
		s.ClearCache()
		return errors.Join(err, w.Flush())
	})
	return parameters, err
}

// tensors calls add for each weight, with the standard deviation of its numbers.
func (m randomShape) tensors(add func(name string, std float64, shape ...int)) {
	linear := func(name string, out, in int) { add(name, 1.5/math.Sqrt(float64(in)), out, in) }
	add("model.embed_tokens", 0.05, m.vocab, m.hidden)
	for i := range m.layers {
		path := fmt.Sprintf("model.layers.%d.", i)
		add(path+"input_layernorm", 1, m.hidden)
		linear(path+"self_attn.q_proj", m.heads*m.headDim, m.hidden)
		linear(path+"self_attn.k_proj", m.kvHeads*m.headDim, m.hidden)
		linear(path+"self_attn.v_proj", m.kvHeads*m.headDim, m.hidden)
		linear(path+"self_attn.o_proj", m.hidden, m.heads*m.headDim)
		add(path+"self_attn.q_norm", 1, m.headDim)
		add(path+"self_attn.k_norm", 1, m.headDim)
		add(path+"post_attention_layernorm", 1, m.hidden)
		linear(path+"mlp.gate_proj", m.inner, m.hidden)
		linear(path+"mlp.up_proj", m.inner, m.hidden)
		linear(path+"mlp.down_proj", m.hidden, m.inner)
	}
	add("model.norm", 1, m.hidden)
}
