package dflash

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine/lm"
	"tandem/models/nn"
)

// tiny returns the config.json of a recorded case with other fields. A nil value removes a field. A
// name that begins with a dot names a field of dflash_config.
func tiny(t testing.TB, fields map[string]any) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "parity", "causal", "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	for name, v := range fields {
		at := c
		if nested, ok := strings.CutPrefix(name, "."); ok {
			at, name = c["dflash_config"].(map[string]any), nested
		}
		if at[name] = v; v == nil {
			delete(at, name)
		}
	}
	if text, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	return text
}

// museFields make the recorded case a drafter of Muse Glimmer.
var museFields = map[string]any{"architectures": []string{museArchitecture}, "dflash_config": nil,
	"mask_token_id": 62, "target_layer_ids": []int{1, 3}, "vocab_size": nil, "layer_types": nil,
	"num_target_layers": nil}

// sparkFields make the recorded case a DSpark drafter.
var sparkFields = map[string]any{"architectures": []string{"Qwen3DSparkModel"}}

// with returns fields with another one.
func with(fields map[string]any, name string, value any) map[string]any {
	fields = maps.Clone(fields)
	fields[name] = value
	return fields
}

// paired is the target of the recorded cases.
var paired = lm.Config{VocabSize: 64, HiddenSize: 32, Layers: 6}

func TestBadConfigIsRefused(t *testing.T) {
	for _, c := range []struct {
		name        string
		fields      map[string]any
		want        string
		unsupported bool
	}{
		{"as recorded", nil, "", false},
		{"Muse Glimmer's", museFields, "", false},
		{"Muse Glimmer's of no layers", with(museFields, "num_hidden_layers", -1), "num_hidden_layers is -1", false},
		{"Muse Glimmer's of too many layers", with(museFields, "num_hidden_layers", 1<<40), "num_hidden_layers is 1099511627776", false},
		{"Muse Glimmer's without a window", with(museFields, "sliding_window", nil), "sliding_window is 0", false},
		{"Muse Glimmer's mask", with(museFields, "mask_token_id", 64), "mask_token_id is 64, outside the model's vocabulary of 64", false},
		{"DSpark's", sparkFields, "", false},
		{"DSpark's by its projector", map[string]any{".projector_type": "dspark"}, "", false},
		{"DFlash's by its projector", map[string]any{".projector_type": "dflash"}, "", false},
		{"another projector", map[string]any{".projector_type": "domino"}, `projector_type "domino" is not supported for DFlashDraftModel, only dflash`, true},
		{"DFlash 2's other projector", map[string]any{"architectures": []string{flash2Architecture}, ".projector_type": "dspark"}, `projector_type "dspark" is not supported for DFlash2DraftModel`, true},
		{"DSpark's other projector", with(sparkFields, ".projector_type", "domino"), `projector_type "domino" is not supported for Qwen3DSparkModel, only dspark`, true},
		{"DSpark's of one draft", with(sparkFields, "block_size", 1), "", false},
		{"DSpark's of the anchor alone", with(with(sparkFields, "block_size", 1), "dspark_bonus_anchor", true), "block_size is 1: a block is", false},
		{"DSpark's without a block size", with(sparkFields, "block_size", nil), "block_size is 0", false},
		{"DSpark's of Gemma", with(sparkFields, "architectures", []string{"Gemma4DSparkModel"}), `architecture ["Gemma4DSparkModel"] is not supported, only DFlashDraftModel`, true},
		{"DSpark's of Qwen3.5", with(sparkFields, "model_type", "qwen3_5"), `model_type "qwen3_5" is not supported`, true},
		{"DSpark's activation", with(sparkFields, "hidden_act", "gelu"), `hidden_act "gelu" is not supported`, true},
		{"DSpark's other head", with(sparkFields, ".markov_head_type", "gated"), `markov_head_type "gated" is not supported, only vanilla`, true},
		{"DSpark's other head outside", with(sparkFields, "markov_head_type", "rnn"), `markov_head_type "rnn" is not supported, only vanilla`, true},
		{"DSpark's sinks", with(sparkFields, "attention_sink_bias", true), "attention_sink_bias is not supported", true},
		{"DSpark's noise", with(sparkFields, "log_snr_conditioning", true), "log_snr_conditioning is not supported", true},
		{"DSpark's gates", with(sparkFields, "enable_qwen35_gated_q_proj", true), "enable_qwen35_gated_q_proj is not supported", true},
		{"DSpark's cut vocabulary", with(sparkFields, "draft_vocab_size", 32), "draft_vocab_size of 32 in a vocabulary of 64 is not supported", true},
		{"DSpark's whole vocabulary", with(sparkFields, "draft_vocab_size", 64), "", false},
		{"DSpark's absurd rank", with(sparkFields, "markov_rank", 1<<40), "markov_rank is 1099511627776", false},
		{"DSpark's mask outside", with(with(sparkFields, ".mask_token_id", nil), "mask_token_id", 3), "", false},
		{"no architecture", map[string]any{"architectures": nil}, "architectures is missing; that of a DFlash drafter is DFlashDraftModel", false},
		{"two architectures", map[string]any{"architectures": []string{"DFlashDraftModel", "X"}}, `["DFlashDraftModel" "X"] is not supported`, true},
		{"no block size", map[string]any{"block_size": nil}, "block_size is 0", false},
		{"block of the anchor alone", map[string]any{"block_size": 1}, "block_size is 1: a block is", false},
		{"absurd block", map[string]any{"block_size": 1 << 20}, "block_size is 1048576", false},
		{"two block sizes", map[string]any{".block_size": 16}, "block_size is 8, but 16 in dflash_config", false},
		{"the same block size twice", map[string]any{".block_size": 8}, "", false},
		{"two layer counts", map[string]any{".num_target_layers": 7}, "num_target_layers is 6, but 7 in dflash_config", false},
		{"negative layer count", map[string]any{"num_target_layers": -1}, "num_target_layers is -1", false},
		{"layer count not said", map[string]any{"num_target_layers": nil}, "", false},
		{"no mask id", map[string]any{".mask_token_id": nil}, "mask_token_id is missing", false},
		{"no dflash_config", map[string]any{"dflash_config": nil}, "mask_token_id is missing", false},
		{"negative mask id", map[string]any{".mask_token_id": -1}, "mask_token_id is -1, outside the vocabulary of 64", false},
		{"mask id beyond", map[string]any{".mask_token_id": 64}, "mask_token_id is 64, outside the vocabulary of 64", false},
		{"taps descend", map[string]any{".target_layer_ids": []int{3, 1}}, "[3 1] do not ascend", false},
		{"tap twice", map[string]any{".target_layer_ids": []int{1, 1}}, "[1 1] do not ascend", false},
		{"negative tap", map[string]any{".target_layer_ids": []int{-1, 1}}, "do not ascend from 0", false},
		{"tap beyond", map[string]any{".target_layer_ids": []int{1, 6}}, "reads layer 6 of its target, and this one has layers 0 to 5", false},
		{"absurd hidden", map[string]any{"hidden_size": 1 << 40}, "hidden_size is 1099511627776", false},
		{"odd groups", map[string]any{"num_key_value_heads": 3}, "can't share", false},
		{"no epsilon", map[string]any{"rms_norm_eps": 0}, "rms_norm_eps is 0", false},
		{"no theta", map[string]any{"rope_theta": nil}, "rope_theta is missing", false},
		{"theta in the newer form", map[string]any{"rope_theta": nil, "rope_parameters": map[string]any{"rope_theta": 1e4}}, "", false},
		{"rotated neighbours", map[string]any{"rope_traditional": true}, "rope_traditional is not supported", true},
		{"layer types", map[string]any{"layer_types": []string{"full_attention"}}, "1 layers of 3", false},
		{"layer type", map[string]any{"layer_types": []string{"mamba", "full_attention", "full_attention"}}, `"mamba"`, true},
		{"no window", map[string]any{"sliding_window": nil}, "sliding_window is 0", false},
		{"window not used", map[string]any{"sliding_window": nil, "use_sliding_window": false}, "", false},
		{"window without layers", map[string]any{"layer_types": nil}, "use_sliding_window is not supported without layer_types", true},
		{"activation", map[string]any{"hidden_act": "relu"}, `"relu" is not supported`, true},
		{"text for number", map[string]any{"block_size": "8"}, "config.json: json: cannot unmarshal", false},
		{"other width", map[string]any{"hidden_size": 64}, "made for a target with 64 hidden elements, and this one has 32", false},
		{"other vocabulary", map[string]any{"vocab_size": 65}, "with 65 tokens of vocabulary, and this one has 64", false},
		{"other layer count", map[string]any{"num_target_layers": 36}, "with 36 layers, and this one has 6", false},
	} {
		err := Pair(tiny(t, c.fields), paired)
		_, unsupported := errors.AsType[*nn.UnsupportedError](err)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) ||
			unsupported != c.unsupported {
			t.Errorf("%s: got %v (unsupported: %v), want %q", c.name, err, unsupported, c.want)
		}
	}
}

// TestDefaultTapsAreSpreadEvenly checks the rule for configs that name no layers.
func TestDefaultTapsAreSpreadEvenly(t *testing.T) {
	for _, c := range []struct {
		layers, target int
		want           []int
	}{
		{5, 36, []int{1, 9, 17, 25, 33}}, // Qwen3-8B
		{5, 28, []int{1, 7, 13, 19, 25}},
		{4, 28, []int{1, 9, 17, 25}},
		{3, 28, []int{1, 13, 25}},
		{3, 9, []int{1, 4, 6}}, // 3.5 is rounded to the even 4
		{2, 6, []int{1, 3}},
		{2, 5, []int{1, 2}},
		{1, 36, []int{18}},
		{1, 1, []int{0}},
		{2, 4, nil},
		{5, 7, nil},
	} {
		a := &args{}
		a.NumHiddenLayers = c.layers
		got, err := a.taps(c.target)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%d layers for a target of %d: %v, %v, want %v",
				c.layers, c.target, got, err, c.want)
		}
	}
}

// FuzzConfig expects that any config.json is refused or describes a drafter that the target can
// serve.
func FuzzConfig(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "parity", "*", "config.json"))
	if err != nil || len(paths) == 0 {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 6)
	}
	f.Add(tiny(f, map[string]any{".target_layer_ids": nil, "num_target_layers": nil}), 40)
	f.Add([]byte(`{"dflash_config":[]}`), 6)
	f.Add([]byte(`{"architectures":["DFlash2DraftModel"]}`), 6)
	f.Fuzz(func(t *testing.T, text []byte, layers int) {
		target := paired
		target.Layers = max(1, min(layers, nn.MaxLayers))
		a, err := parseArgs(text)
		if err != nil {
			return
		}
		taps, err := a.pair(target)
		if err != nil {
			return
		}
		if len(taps) == 0 {
			t.Fatal("len(taps) is 0")
		}
		if !slices.IsSorted(taps) {
			t.Errorf("taps = %v, want them in order", taps)
		}
		if taps[0] < 0 {
			t.Errorf("taps[0] = %v, want at least 0", taps[0])
		}
		if taps[len(taps)-1] >= target.Layers {
			t.Errorf("taps[len(taps)-1] = %v, want less than %v",
				taps[len(taps)-1], target.Layers)
		}
		if len(slices.Compact(slices.Clone(taps))) != len(taps) {
			t.Errorf("len(slices.Compact(slices.Clone(taps))) = %v, want %v",
				len(slices.Compact(slices.Clone(taps))), len(taps))
		}
		if a.block() < 2 || *a.DFlashConfig.MaskTokenID < 0 ||
			*a.DFlashConfig.MaskTokenID >= target.VocabSize || a.HiddenSize != target.HiddenSize {
			t.Errorf("accepted %+v", a)
		}
		for i := range a.NumHiddenLayers {
			if a.window(i) < 0 {
				t.Errorf("layer %d has a window of %d", i, a.window(i))
			}
		}
	})
}
