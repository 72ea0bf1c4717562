package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFeatureTable(t *testing.T) {
	var f featureTable
	f.add("one", "chat")
	f.add("two", "tools")
	f.add("two", "chat")
	const want = "| checked | one | two |\n| --- | --- | --- |\n| chat | yes | yes |\n| tools |     | yes |\n"
	if got := f.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestStandIn: the file says of itself how long it is, and the template is the stand-in's.
func TestStandIn(t *testing.T) {
	b := &builder{root: ".."}
	dir := filepath.Join(t.TempDir(), "model")
	if err := b.standIn(dir); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	n := 8 + int(binary.LittleEndian.Uint64(file))
	var header map[string]struct {
		Shape   []int
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(file[8:n], &header); err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for name, h := range header {
		size := 4
		for _, d := range h.Shape {
			size *= d
		}
		if h.Offsets[1]-h.Offsets[0] != size {
			t.Errorf("%s: %v for %v", name, h.Offsets, h.Shape)
		}
		bytes += size
	}
	if len(file) != n+bytes {
		t.Errorf("%d bytes, want %d", len(file), n+bytes)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "chat_template.jinja")); err != nil || !strings.Contains(string(text), "<think>") {
		t.Errorf("%v, %s", err, text)
	}
}
