package ollama

import (
	"testing"

	"tandem/app/api"
	"tandem/app/control"
)

// A GGUF file is told as one, with the quantization that it names itself.
func TestDetailsOfAGGUFFile(t *testing.T) {
	m := control.Model{ID: "m", Quantization: "4-bit", Dtype: "F16"}
	if d := newOllamaModel(api.ModelEntry{ID: "m"}, m).Details; d.Format != "safetensors" ||
		d.QuantizationLevel != "4-bit" {
		t.Errorf("safetensors are %+v", d)
	}
	m.FileType = "Q4_K_M"
	if d := newOllamaModel(api.ModelEntry{ID: "m"}, m).Details; d.Format != "gguf" ||
		d.QuantizationLevel != "Q4_K_M" {
		t.Errorf("a GGUF file is %+v", d)
	}
}
