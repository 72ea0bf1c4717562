package nn

import (
	"errors"
	"strings"
	"testing"
)

func TestQuantizationIsReadOrRefusedByName(t *testing.T) {
	for _, c := range []struct{ section, mode, reason string }{
		{``, "", ""},
		{`null`, "", ""},
		{`{"group_size": 32, "bits": 4, "mode": "mxfp4"}`, "mxfp4", ""},
		{`{"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}`, "mxfp4", ""},
		{`{"quant_method": "mxfp8", "weight_block_size": [1, 32]}`, "mxfp8", ""},
		{`{"quant_method": "modelopt", "quant_algo": "NVFP4"}`, "nvfp4", ""},
		{`{"quantization": {"quant_algo": "NVFP4", "group_size": 16}}`, "nvfp4", ""},
		{`{"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}`, "nvfp4", ""},
		{`{"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized"}`, "mxfp4", ""},
		{`{"quant_method": "compressed-tensors", "format": "pack-quantized",
			"config_groups": {"group_0": {"weights": {"num_bits": 4, "symmetric": true}}}}`,
			"affine", ""},

		{`{"quant_method": "compressed-tensors", "format": "pack-quantized",
			"config_groups": {"group_0": {"weights": {"num_bits": 4, "symmetric": false}}}}`,
			"", `"compressed-tensors pack-quantized"`},
		{`{"quant_method": "compressed-tensors", "format": "pack-quantized",
			"config_groups": {"group_0": {"weights": {"num_bits": 8, "symmetric": true}}}}`,
			"", `"compressed-tensors pack-quantized"`},
		{`{"quant_method": "compressed-tensors", "format": "float-quantized"}`, "",
			`"compressed-tensors float-quantized"`},
		{`{"quant_method": "modelopt", "quant_algo": "FP8"}`, "", `"modelopt FP8"`},
		{`{"quantization": {"quant_algo": "MIXED_PRECISION"}}`, "", `"modelopt MIXED_PRECISION"`},
		{`{"quant_method": "fp8", "weight_block_size": [128, 128]}`, "", `"fp8"`},
		{`{"quant_method": "awq", "bits": 4}`, "", `"awq"`},
		{`{"quant_method": "gptq", "bits": 4}`, "", `"gptq"`},
		{`{"quant_method": "bitnet"}`, "", `"bitnet"`},
		{`{"group_size": 32, "bits": 6, "mode": "fp6"}`, "",
			`as "fp6"; supported are affine, mxfp4, nvfp4, mxfp8`},
	} {
		q, err := ReadQuantization([]byte(c.section))
		switch _, named := errors.AsType[*UnsupportedError](err); {
		case c.reason != "":
			if !named || !strings.Contains(err.Error(), c.reason) ||
				!strings.Contains(err.Error(), "supported are") {
				t.Errorf("%s: got %v, want %q", c.section, err, c.reason)
			}
		case err != nil || c.mode == "" && q != nil || q != nil && q.Mode != c.mode:
			t.Errorf("%s: got %+v, %v, want %q", c.section, q, err, c.mode)
		}
	}
}

func TestDamagedQuantizationIsRefused(t *testing.T) {
	for _, section := range []string{`3`, `{"bits": "four"}`, `{"a.q": {"bits": []}}`,
		`{"quant_method": 4}`, `{"quantization": []}`, `{"config_groups": {"a": 3}}`, `{`} {
		if q, err := ReadQuantization([]byte(section)); err == nil {
			t.Errorf("%s was accepted: %+v", section, q)
		}
	}
}
