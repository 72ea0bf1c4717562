package mac

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// pictures are the pictures in an icon file for macOS: the type and the width in pixels of each.
var pictures = []struct {
	kind string
	size int
}{
	{"ic11", 32}, {"ic12", 64}, {"ic07", 128}, {"ic13", 256}, {"ic08", 256}, {"ic14", 512}, {"ic09", 512}, {"ic10", 1024},
}

// TestIconHasEverySize reads the committed icon. Each picture is there in its size, with round
// corners. The one of 256 pixels is the picture that Wails' own tool takes.
func TestIconHasEverySize(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", iconFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(data[:4]) != "icns" || int(binary.BigEndian.Uint32(data[4:])) != len(data) {
		t.Fatalf("the file begins %q", data[:8])
	}
	rest := data[8:]
	var forWails image.Image
	for _, p := range pictures {
		length := int(binary.BigEndian.Uint32(rest[4:]))
		img, err := png.Decode(bytes.NewReader(rest[8:length]))
		if err != nil || string(rest[:4]) != p.kind || img.Bounds().Dx() != p.size ||
			img.Bounds().Dy() != p.size {
			t.Fatalf("%q: %v, %v, want %s of %d pixels",
				rest[:4], err, img.Bounds(), p.kind, p.size)
		}
		if _, _, _, corner := img.At(0, 0).RGBA(); corner != 0 {
			t.Errorf("%s has no round corners", p.kind)
		}
		if p.size == 256 {
			forWails = img
		}
		rest = rest[length:]
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes follow the pictures", len(rest))
	}

	text, err := os.ReadFile(filepath.Join("..", "appicon.png"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if forWails.At(x, y) != img.At(x, y) {
				t.Fatalf("build/appicon.png differs from %s at %d, %d", iconFile, x, y)
			}
		}
	}
}
