package models_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/enginetest"
	"tandem/models"
)

// TestQuantizationIsReadWhereverItStands moves the section about quantization to each place where
// a publisher puts it. The model stays the same.
func TestQuantizationIsReadWhereverItStands(t *testing.T) {
	th := enginetest.NewThread(t)
	for name, from := range map[string]string{"llama-mxfp4-mixed": "quantization",
		"llama-modelopt": "quantization_config", "llama-compressed-int4": "quantization_config"} {
		want, err := models.OpenFS(recorded(t, name), name).Summary()
		if err != nil || want.Quantization == "" {
			t.Fatalf("%s: %q, %v", name, want.Quantization, err)
		}
		section := func(files fstest.MapFS) any {
			var config map[string]any
			if err := json.Unmarshal(files["config.json"].Data, &config); err != nil {
				t.Fatal(err)
			}
			return config[from]
		}
		for place, move := range map[string]func(files fstest.MapFS, section any){
			"quantization_config": func(files fstest.MapFS, section any) {
				setConfig(files, map[string]any{"quantization_config": section})
			},
			"text_config": func(files fstest.MapFS, section any) {
				setConfig(files, map[string]any{
					"text_config": map[string]any{"quantization_config": section}})
			},
			"hf_quant_config.json": func(files fstest.MapFS, section any) {
				text, err := json.Marshal(section)
				if err != nil {
					t.Fatal(err)
				}
				files["hf_quant_config.json"] = &fstest.MapFile{Data: text}
			},
		} {
			files := recorded(t, name)
			moved := section(files)
			setConfig(files, map[string]any{from: nil})
			move(files, moved)
			got, err := models.OpenFS(files, name).Summary()
			if err != nil || got.Quantization != want.Quantization ||
				got.Parameters != want.Parameters {
				t.Errorf("%s in %s: %+v, %v", name, place, got, err)
			}
			b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
			if err != nil {
				t.Errorf("%s in %s: %v", name, place, err)
				continue
			}
			b.Close()
		}
	}
}

// TestForeignTensorsAreRefusedByName spoils models that another program quantized.
func TestForeignTensorsAreRefusedByName(t *testing.T) {
	rename := func(from, to string) func(files fstest.MapFS) {
		return func(files fstest.MapFS) {
			editHeader(files, func(header string) string {
				return strings.Replace(header, from, to, 1)
			})
		}
	}
	th := enginetest.NewThread(t)
	const down = "model.layers.0.mlp.down_proj"
	for _, c := range []struct {
		name, of string
		spoil    func(files fstest.MapFS)
		code     models.Code
		want     string
	}{
		{"a global scale of mxfp4", "llama-mxfp4",
			rename(`"model.norm.weight"`, `"`+down+`.global_scale"`), models.CodeUnsupported,
			down + " has a global scale, which only nvfp4 has, not mxfp4"},
		{"a global scale a row", "llama-nvfp4",
			rename(`"model.norm.weight"`, `"`+down+`.global_scale"`), models.CodeUnsupported,
			down + ".global_scale has shape [64]; supported is one scale for each matrix"},
		{"zero points", "llama-compressed-int4",
			rename(down+".weight_shape", down+".weight_zero_point"), models.CodeInvalid,
			"has unexpected 1 tensors (" + down + ".weight_zero_point)"},
		{"no scales", "llama-modelopt", rename(down+".weight_scale\"", down+".other\""),
			models.CodeInvalid, "lacks 1 tensors (" + down + ".scales)"},
		{"not said", "llama-modelopt", func(files fstest.MapFS) {
			setConfig(files, map[string]any{"quantization_config": nil})
		}, models.CodeUnsupported, "is of type U8; supported is F16, BF16, F32"},
	} {
		files := recorded(t, c.of)
		c.spoil(files)
		_, err := models.OpenFS(files, "org/name").Load(t.Context(), th, models.Options{})
		if _, of := models.OpenFS(files, "org/name").Summary(); fmt.Sprint(of) != fmt.Sprint(err) {
			t.Errorf("%s: inspecting gives %v, loading %v", c.name, of, err)
		}
		e, ok := errors.AsType[*models.Error](err)
		if !ok || e.Code != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s and %q", c.name, err, c.code, c.want)
		}
	}
}
