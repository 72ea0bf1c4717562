package mac

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"os"
	"testing"
)

// TestIcns reads the icon file back: every picture is there, in its size, and drawn.
func TestIcns(t *testing.T) {
	data, err := icns()
	if err != nil {
		t.Fatal(err)
	}
	if string(data[:4]) != "icns" || int(binary.BigEndian.Uint32(data[4:])) != len(data) {
		t.Fatalf("the file begins %q", data[:8])
	}
	rest := data[8:]
	for _, k := range iconKinds {
		length := int(binary.BigEndian.Uint32(rest[4:]))
		img, err := png.Decode(bytes.NewReader(rest[8:length]))
		if err != nil || string(rest[:4]) != k.kind || img.Bounds().Dx() != k.size || img.Bounds().Dy() != k.size {
			t.Fatalf("%q: %v, %v, want %s of %d pixels", rest[:4], err, img.Bounds(), k.kind, k.size)
		}
		if _, _, _, corner := img.At(0, 0).RGBA(); corner != 0 {
			t.Errorf("%s has no round corners", k.kind)
		}
		ground, _, _, _ := img.At(k.size/2, k.size/4).RGBA()
		rider, _, _, _ := img.At(k.size*348/1024, k.size*330/1024).RGBA()
		if ground > 0x8000 || rider < 0xf000 {
			t.Errorf("%s: red is %#x on the ground and %#x on a rider", k.kind, ground, rider)
		}
		rest = rest[length:]
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes behind the pictures", len(rest))
	}
}

// TestAppIcon: the picture that Wails' own tool takes is the drawn one.
func TestAppIcon(t *testing.T) {
	text, err := os.ReadFile("../appicon.png")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	drawn := drawIcon(img.Bounds().Dx())
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if drawn.At(x, y) != img.At(x, y) {
				t.Fatalf("build/appicon.png differs at %d, %d: draw it again with go run ./build app", x, y)
			}
		}
	}
}
