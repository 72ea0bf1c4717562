package nn

import (
	"encoding/json"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

func TestQuantizationFollowsConfigAndShapes(t *testing.T) {
	const mixed = `{"group_size": 64, "bits": 4, "a.v": {"group_size": 32, "bits": 8}, "a.o": false, "a.x": {"bits": 8, "group_size": 64, "mode": "affine"}}`
	affine := func(bits, group int) mlx.Quantization {
		return mlx.Quantization{Bits: bits, GroupSize: group, Mode: "affine"}
	}
	for _, c := range []struct {
		name, config, path  string
		in, columns, groups int
		want                mlx.Quantization
		reason              string
	}{
		{"from shapes alone", ``, "a.q", 256, 32, 4, affine(4, 64), ""},
		{"as all", mixed, "a.q", 256, 32, 4, affine(4, 64), ""},
		{"not named, from shapes", mixed, "a.q", 256, 64, 8, affine(8, 32), ""},
		{"named", mixed, "a.v", 256, 64, 8, affine(8, 32), ""},
		{"named with mode", mixed, "a.x", 256, 64, 4, affine(8, 64), ""},
		{"named, other shapes", mixed, "a.v", 256, 32, 4, mlx.Quantization{}, "is not 256 elements of 8 bits in groups of 32"},
		{"said to be float", mixed, "a.o", 256, 32, 4, mlx.Quantization{}, "says that a.o is not quantized"},
		{"mode", `{"group_size": 32, "bits": 4, "mode": "mxfp4"}`, "a.q", 256, 32, 8, mlx.Quantization{}, "quantized as mxfp4; only affine"},
		{"bits", `{"group_size": 64, "bits": 6}`, "a.q", 256, 48, 4, mlx.Quantization{}, "6 bits in groups of 64; supported are [4 8] bits"},
		{"groups", ``, "a.q", 256, 32, 16, mlx.Quantization{}, "groups of 16"},
		{"uneven", ``, "a.q", 100, 32, 4, mlx.Quantization{}, "supported are"},
		{"nothing", ``, "a.q", 256, 0, 4, mlx.Quantization{}, "quantized to nothing"},
	} {
		var q *Quantization
		if c.config != "" {
			if err := json.Unmarshal([]byte(c.config), &q); err != nil {
				t.Fatal(err)
			}
		}
		got, err := q.of(c.path, c.in, c.columns, c.groups)
		if got != c.want || (err == nil) != (c.reason == "") || err != nil &&
			!strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %+v, %v, want %+v, %q", c.name, got, err, c.want, c.reason)
		}
	}
}

func TestDamagedQuantizationIsRefused(t *testing.T) {
	for _, config := range []string{`3`, `{"bits": "four"}`, `{"a.q": {"bits": []}}`} {
		var q *Quantization
		if err := json.Unmarshal([]byte(config), &q); err == nil {
			t.Errorf("%s was accepted", config)
		}
	}
}
