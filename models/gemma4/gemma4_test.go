package gemma4

import (
	"encoding/json"
	"slices"
	"testing"

	"tandem/models/nn"
)

// pattern returns the types of n layers, the last of every so many full.
func pattern(n, every int) []string {
	types := slices.Repeat([]string{nn.SlidingAttention}, n)
	for i := every - 1; i < n; i += every {
		types[i] = nn.FullAttention
	}
	return types
}

// TestPublishedSizesAreRead expects of the published configs which layers keep what. Keys and values
// are 2 KV D elements a position.
func TestPublishedSizesAreRead(t *testing.T) {
	type kept struct{ sliding, full nn.CacheSpec }
	for name, c := range map[string]struct {
		text     map[string]any
		layers   int
		owners   int // layers with keys
		kept     kept
		position int // elements that a position far back takes in all layers
	}{
		"E2B": {map[string]any{
			"hidden_size": 1536, "num_hidden_layers": 35, "num_attention_heads": 8,
			"num_key_value_heads": 1, "head_dim": 256, "global_head_dim": 512,
			"num_global_key_value_heads": nil, "attention_k_eq_v": false, "sliding_window": 512,
			"num_kv_shared_layers": 20, "hidden_size_per_layer_input": 256,
			"layer_types": pattern(35, 5), "final_logit_softcapping": 30.0,
		}, 35, 15, kept{nn.KVCacheSpec(1, 256, 512), nn.KVCacheSpec(1, 512, 0)}, 3 * 1024},
		"26B-A4B": {map[string]any{
			"hidden_size": 2816, "num_hidden_layers": 30, "intermediate_size": 2112,
			"num_attention_heads": 16, "num_key_value_heads": 8, "num_global_key_value_heads": 2,
			"head_dim": 256, "global_head_dim": 512, "attention_k_eq_v": true,
			"sliding_window": 1024, "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0,
			"enable_moe_block": true, "num_experts": 128, "top_k_experts": 8,
			"moe_intermediate_size": 704, "layer_types": pattern(30, 6),
			"use_bidirectional_attention": "vision",
		}, 30, 30, kept{nn.KVCacheSpec(8, 256, 1024), nn.KVCacheSpec(2, 512, 0)}, 5 * 2048},
		"12B": {map[string]any{
			"hidden_size": 3840, "num_hidden_layers": 48, "intermediate_size": 15360,
			"num_attention_heads": 16, "num_key_value_heads": 8, "num_global_key_value_heads": 1,
			"head_dim": 256, "global_head_dim": 512, "attention_k_eq_v": true,
			"sliding_window": 1024, "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0,
			"layer_types": pattern(48, 6),
		}, 48, 48, kept{nn.KVCacheSpec(8, 256, 1024), nn.KVCacheSpec(1, 512, 0)}, 8 * 1024},
	} {
		text, err := json.Marshal(map[string]any{"model_type": "gemma4", "text_config": c.text})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a := parsed.(*args)
		position := 0
		for i := range a.Layers() {
			want := c.kept.sliding
			if a.window(i) == 0 {
				want = c.kept.full
			}
			if i >= c.owners {
				want = nn.CacheSpec{}
			}
			if got := a.CacheSpec(i); got != want {
				t.Errorf("%s, layer %d: keeps %+v, want %+v", name, i, got, want)
			} else if got.Window == 0 {
				position += got.Row
			}
		}
		if a.Layers() != c.layers || position != c.position || a.VocabSize != 262144 {
			t.Errorf("%s: %d layers, %d elements a position, vocabulary of %d",
				name, a.Layers(), position, a.VocabSize)
		}
		if name == "E2B" && (a.kvSource[15] != 13 || a.kvSource[19] != 14 || a.kvSource[34] != 14 ||
			a.intermediate(14) != 6144 || a.intermediate(15) != 12288) {
			t.Errorf("E2B: layers attend the keys of %v", a.kvSource)
		}
	}
}
