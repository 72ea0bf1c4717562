package models

import (
	"fmt"
	"strings"
	"testing"
)

// TestIndexOfManyTensorsIsRefused expects the bound of a checkpoint to hold for its index.
func TestIndexOfManyTensorsIsRefused(t *testing.T) {
	var b strings.Builder
	for i := range maxTensors + 1 {
		fmt.Fprintf(&b, `,"%d":"a.safetensors"`, i)
	}
	if _, err := parseIndex([]byte(`{"weight_map":{` + b.String()[1:] + `}}`)); err == nil ||
		!strings.Contains(err.Error(), "more than 262144 tensors") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// FuzzIndex checks that no accepted index leads out of the model's folder.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":8},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"a":"../x.safetensors"}}`))
	f.Add([]byte(`{"weight_map":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		index, err := parseIndex(text)
		if err != nil {
			return
		}
		for tensor, shard := range index {
			if strings.ContainsAny(shard, `/\`) || !strings.HasSuffix(shard, ".safetensors") ||
				strings.Trim(shard, ".") == "" {
				t.Errorf("tensor %q may be in %q", tensor, shard)
			}
		}
	})
}
