package nn

import (
	"strings"
	"testing"

	"tandem/engine/mlx"
)

func TestQuantizationFollowsConfigAndTensors(t *testing.T) {
	const mixed = `{"group_size": 64, "bits": 4,
		"a.v": {"group_size": 32, "bits": 8}, "a.o": false, "a.y": true, "a.d": {"bits": 8},
		"a.x": {"bits": 8, "group_size": 64, "mode": "affine"}}`
	const mxfp4 = `{"group_size": 32, "bits": 4, "mode": "mxfp4",
		"a.v": {"group_size": 64, "bits": 8}, "a.m": {"mode": "mxfp8"}, "a.y": true}`
	pack := func(mode string, bits, group int) mlx.Quantization {
		return mlx.Quantization{Bits: bits, GroupSize: group, Mode: mode}
	}
	affine := func(bits, group int) mlx.Quantization { return pack("affine", bits, group) }
	var none mlx.Quantization
	for _, c := range []struct {
		name, config, path  string
		in, columns, groups int
		scales              string
		want                mlx.Quantization
		reason              string
	}{
		{"from shapes alone", ``, "a.q", 256, 32, 4, "BF16", affine(4, 64), ""},
		{"2 bits", ``, "a.q", 256, 16, 2, "F16", affine(2, 128), ""},
		{"3 bits", ``, "a.q", 256, 24, 4, "F32", affine(3, 64), ""},
		{"5 bits", ``, "a.q", 256, 40, 8, "BF16", affine(5, 32), ""},
		{"6 bits", ``, "a.q", 256, 48, 4, "BF16", affine(6, 64), ""},
		{"as all", mixed, "a.q", 256, 32, 4, "BF16", affine(4, 64), ""},
		{"not named, from shapes", mixed, "a.q", 256, 64, 8, "BF16", affine(8, 32), ""},
		{"named", mixed, "a.v", 256, 64, 8, "BF16", affine(8, 32), ""},
		{"named with mode", mixed, "a.x", 256, 64, 4, "BF16", affine(8, 64), ""},
		{"named without a group", mixed, "a.d", 256, 64, 4, "BF16", affine(8, 64), ""},
		{"named true", mixed, "a.y", 256, 32, 4, "BF16", affine(4, 64), ""},
		{"named, other shapes", mixed, "a.v", 256, 32, 4, "BF16", none,
			"is not 256 elements of 8 bits in groups of 32"},
		{"said to be float", mixed, "a.o", 256, 32, 4, "BF16", none,
			"says that a.o is not quantized"},
		{"mxfp4 as all", mxfp4, "a.q", 256, 32, 8, "U8", pack("mxfp4", 4, 32), ""},
		{"mxfp4, named true", mxfp4, "a.y", 256, 32, 8, "U8", pack("mxfp4", 4, 32), ""},
		{"mxfp4 from tensors", ``, "a.q", 256, 32, 8, "U8", pack("mxfp4", 4, 32), ""},
		{"nvfp4 from tensors", ``, "a.q", 256, 32, 16, "U8", pack("nvfp4", 4, 16), ""},
		{"mxfp8 from tensors", mxfp4, "a.q", 256, 64, 8, "U8", pack("mxfp8", 8, 32), ""},
		{"affine from tensors", mxfp4, "a.q", 256, 32, 4, "BF16", affine(4, 64), ""},
		{"below another mode", mxfp4, "a.v", 256, 64, 4, "BF16", affine(8, 64), ""},
		{"a mode alone", mxfp4, "a.m", 256, 64, 8, "U8", pack("mxfp8", 8, 32), ""},
		{"affine with integer scales", mxfp4, "a.v", 256, 64, 4, "U8", none,
			"quantized as affine, but its scales are of type U8"},
		{"mxfp8 with floating scales", mxfp4, "a.m", 256, 64, 8, "BF16", none,
			"quantized as mxfp8, but its scales are of type BF16"},
		{"no mode has such scales", ``, "a.q", 256, 32, 4, "U8", none,
			"to 4 bits in groups of 64; mxfp4 supports bits of [4] and groups of [32]"},
		{"mode of one", `{"a.q": {"mode": "e2m1"}}`, "a.q", 256, 32, 8, "U8", none,
			`a.q is quantized as "e2m1"; supported are affine, mxfp4, nvfp4, mxfp8`},
		{"bits", `{"a.q": {"group_size": 64, "bits": 7}}`, "a.q", 256, 56, 4, "BF16", none,
			"7 bits in groups of 64; affine supports bits of [2 3 4 5 6 8]"},
		{"groups", ``, "a.q", 256, 32, 16, "BF16", none, "groups of 16"},
		{"uneven", ``, "a.q", 100, 32, 4, "BF16", none, "affine supports"},
		{"nothing", ``, "a.q", 256, 0, 4, "BF16", none, "quantized to nothing"},
	} {
		q, err := ReadQuantization([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.of(c.path, c.in, c.columns, c.groups, c.scales)
		if got != c.want || (err == nil) != (c.reason == "") || err != nil &&
			!strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %+v, %v, want %+v, %q", c.name, got, err, c.want, c.reason)
		}
	}
}

// TestQuantizationOfASource holds that paths are the checkpoint's own, whatever wraps them.
func TestQuantizationOfASource(t *testing.T) {
	six := mlx.Quantization{Bits: 6, GroupSize: 32, Mode: "affine"}
	q, err := ReadQuantization([]byte(
		`{"model.layers.0.mlp.up_proj": {"group_size": 32, "bits": 6, "mode": "affine"}}`))
	if err != nil {
		t.Fatal(err)
	}
	const path = "language_model.model.layers.0.mlp.up_proj"
	if got, err := q.of(path, 256, 48, 8, "F16"); got != six || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := q.of("model.layers.1.mlp.up_proj", 128, 48, 8, "F16"); err == nil {
		t.Errorf("12 bits were taken: %+v", got)
	}
}

func TestPackingNamesWhatMostElementsAre(t *testing.T) {
	affine := func(bits int) mlx.Quantization {
		return mlx.Quantization{Bits: bits, GroupSize: 64, Mode: "affine"}
	}
	mxfp4 := mlx.Quantization{Bits: 4, GroupSize: 32, Mode: "mxfp4"}
	for _, c := range []struct {
		want  string
		count quantizedCount
	}{
		{"", quantizedCount{}},
		{"4-bit", quantizedCount{affine(4): 91, affine(8): 9}},
		{"mixed 4-bit", quantizedCount{affine(4): 90, affine(8): 10}},
		{"4-bit", quantizedCount{affine(4): 50, {Bits: 4, GroupSize: 32, Mode: "affine"}: 50}},
		{"mxfp4", quantizedCount{mxfp4: 95, affine(8): 5}},
		{"mixed mxfp4", quantizedCount{mxfp4: 60, affine(8): 40}},
	} {
		if got := c.count.String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.count, got, c.want)
		}
	}
}
