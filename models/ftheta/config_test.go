package ftheta

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/models/nn"
)

// plain returns a config with other fields. A nil value removes a field.
func plain(fields map[string]any) []byte {
	c := map[string]any{
		"drafter_num_layers": 5, "drafter_num_kv_heads": 8, "drafter_head_dim": 128,
		"verifier_num_layers": 3, "verifier_num_kv_heads": 8, "verifier_head_dim": 256, "rank": 768,
	}
	maps.Copy(c, fields)
	for name, v := range fields {
		if v == nil {
			delete(c, name)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return text
}

func TestConfigOfHeterogeneousLayers(t *testing.T) {
	c, err := ParseConfig(plain(map[string]any{
		"verifier_layer_kv_heads": []int{8, 8, 2}, "verifier_layer_head_dims": []int{256, 256, 512},
		"exact_layers": []int{2},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Embedding != Raw || *c.SinkSize != cache.DefaultSink ||
		*c.WindowSize != cache.DefaultWindow {
		t.Errorf("what it leaves out became %+v", c)
	}
	if kv, dim := c.Shape(2); kv != 2 || dim != 512 || !c.Exact(2) || c.Exact(1) {
		t.Errorf("layer 2 has %d heads of %d, exact %v", kv, dim, c.Exact(2))
	}
	if c.in() != 5120 {
		t.Errorf("the encoders take %d elements", c.in())
	}
	sliding, full := lm.KVShape{Heads: 8, Dim: 256}, lm.KVShape{Heads: 4, Dim: 64}
	three := []lm.KVShape{sliding, sliding, full} // the last one is exact
	for _, r := range []struct {
		drafter, row int
		layers       string // K keeps something, - nothing
		target       []lm.KVShape
		ok           bool
	}{
		{5, 1024, "KKK", three, true},
		{5, 1024, "KKK", []lm.KVShape{sliding, {}, full}, true},
		{5, 1024, "K--", three[:1], true},  // the others attend its keys
		{5, 1024, "KKK--", three, true},    // the config leaves two out that keep nothing
		{5, 1024, "K-K-K", three, true},    // so it does here
		{5, 1024, "KKK", three[:2], true},  // the last one keeps a state
		{5, 1024, "K-K", three[:2], false}, // its numbers are of layers
		{5, 1024, "KK", three[:2], false},
		{5, 1024, "K", three[:1], false},
		{5, 1024, "KKKK", three[:2], false},
		{4, 1024, "KKK", three, false},
		{5, 512, "KKK", three, false},
		{5, 1024, "KKK", []lm.KVShape{full, sliding, full}, false},
		{5, 1024, "KKKK", []lm.KVShape{sliding, sliding, full, sliding}, false},
	} {
		layers := make([]nn.CacheSpec, len(r.layers))
		for i, c := range r.layers {
			if c == 'K' {
				layers[i].Row = 1
			}
		}
		if err := c.Pair(r.drafter, r.row, layers, r.target); (err == nil) != r.ok {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"rank": 0}, "rank is 0"},
		{map[string]any{"rank": nn.MaxHidden + 1}, "rank is"},
		{map[string]any{"rank": nil}, "rank is 0"},
		{map[string]any{"rank": 1.5}, "rank"},
		{map[string]any{"drafter_num_layers": -1}, "drafter_num_layers is -1"},
		{map[string]any{"drafter_num_kv_heads": 1 << 20}, "drafter_num_kv_heads"},
		{map[string]any{"drafter_head_dim": 0}, "drafter_head_dim"},
		{map[string]any{"verifier_num_layers": 0}, "verifier_num_layers"},
		{map[string]any{"verifier_num_kv_heads": 0}, "verifier_num_kv_heads"},
		{map[string]any{"verifier_head_dim": 1 << 20}, "verifier_head_dim"},
		{map[string]any{"verifier_layer_kv_heads": []int{1, 2}}, "has 2 entries for 3 layers"},
		{map[string]any{"verifier_layer_head_dims": []int{1, 2, 0}}, "verifier_layer_head_dims[2] is 0"},
		{map[string]any{"exact_layers": []int{3}}, "exact_layers"},
		{map[string]any{"exact_layers": []int{1, 1}}, "exact_layers"},
		{map[string]any{"embedding": "doubled"}, `embedding "doubled"`},
		{map[string]any{"sink_size": -1}, "sink_size"},
		{map[string]any{"window_size": 0}, "window_size"},
	} {
		_, err := ParseConfig(plain(c.fields))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), ConfigFile) {
			t.Errorf("%v: %v, want %q", c.fields, err, c.want)
		}
	}
	_, err := ParseConfig(plain(map[string]any{"embedding": "doubled"}))
	if _, ok := errors.AsType[*nn.UnsupportedError](err); !ok {
		t.Errorf("an unknown embedding is a %T", err)
	}
}

// FuzzConfig: any text is refused, or its sizes are within their limits.
func FuzzConfig(f *testing.F) {
	f.Add(plain(nil))
	f.Add(plain(map[string]any{"verifier_layer_kv_heads": []int{8, 8, 2}, "exact_layers": []int{0}}))
	f.Add([]byte(`{"rank": 1e400}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseConfig(text)
		if err != nil {
			return
		}
		if c.in() < 1 || c.in() > nn.MaxLayers*nn.MaxHeads*nn.MaxHeadDim {
			t.Errorf("the encoders take %d elements", c.in())
		}
		for i := range c.VerifierNumLayers {
			if kv, dim := c.Shape(i); kv < 1 || kv > nn.MaxHeads || dim < 1 || dim > nn.MaxHeadDim {
				t.Errorf("layer %d has %d heads of %d", i, kv, dim)
			}
		}
	})
}
