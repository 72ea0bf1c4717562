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
		{`{"group_size": 64, "bits": 7}`, "", "it is quantized to 7 bits in groups of 64"},
		{`{"group_size": 48, "bits": 4}`, "", "it is quantized to 4 bits in groups of 48"},
		{`{"bits": -1}`, "", "it is quantized to -1 bits"},
		{`{"group_size": 64, "bits": 4, "mode": "mxfp4"}`, "", "mxfp4 supports bits of [4]"},
	} {
		q, err := ReadQuantization([]byte(c.section))
		switch _, named := errors.AsType[*UnsupportedError](err); {
		case c.reason != "":
			if !named || !strings.Contains(err.Error(), c.reason) ||
				!strings.Contains(err.Error(), "support") {
				t.Errorf("%s: got %v, want %q", c.section, err, c.reason)
			}
		case err != nil || c.mode == "" && q != nil || q != nil && q.Mode != c.mode:
			t.Errorf("%s: got %+v, %v, want %q", c.section, q, err, c.mode)
		}
	}
}

func TestDamagedQuantizationIsRefused(t *testing.T) {
	for _, section := range []string{`3`, `{"bits": "four"}`, `{"a.q": {"bits": []}}`,
		`{"quant_method": 4}`, `{"quantization": []}`, `{`, `{"quant_method": "compressed-tensors",
			"format": "pack-quantized", "config_groups": {"a": 3}}`} {
		if q, err := ReadQuantization([]byte(section)); err == nil {
			t.Errorf("%s was accepted: %+v", section, q)
		}
	}
}

// FuzzQuantization checks that a module is quantized as its tensors allow, whatever a section says.
func FuzzQuantization(f *testing.F) {
	f.Add([]byte(`{"group_size": 32, "bits": 4, "mode": "mxfp4", "a": {"bits": 8}}`), 64, 8, 2, true)
	f.Add([]byte(`{"a": false, "group_size": -1}`), 64, 8, 1, false)
	f.Add([]byte(`{"quant_method": "modelopt", "quant_algo": "NVFP4"}`), 64, 8, 4, true)
	f.Fuzz(func(t *testing.T, section []byte, in, columns, groups int, bytes bool) {
		q, err := ReadQuantization(section)
		if err != nil {
			return
		}
		scales := "F16"
		if bytes {
			scales = "U8"
		}
		in, columns, groups = in&(1<<20-1), columns&(1<<20-1), groups&(1<<20-1)
		m, err := q.of("a", in, columns, groups, scales)
		if err == nil && (m.Bits*in != 32*columns || m.GroupSize*groups != in ||
			bytes != (m.Mode != "affine")) {
			t.Errorf("%s: %+v for rows of %d in %d words and %d groups", section, m, in, columns,
				groups)
		}
	})
}
