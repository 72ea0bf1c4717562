package mac

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
)

// iconKinds are the pictures of an .icns file: their type, and their width in pixels.
var iconKinds = []struct {
	kind string
	size int
}{
	{"ic11", 32}, {"ic12", 64}, {"ic07", 128}, {"ic13", 256}, {"ic08", 256}, {"ic14", 512}, {"ic09", 512}, {"ic10", 1024},
}

// icns returns the app's icon in every size, drawn for each.
func icns() ([]byte, error) {
	drawn := map[int][]byte{}
	var body bytes.Buffer
	for _, k := range iconKinds {
		if drawn[k.size] == nil {
			var b bytes.Buffer
			encoder := png.Encoder{CompressionLevel: png.BestCompression}
			if err := encoder.Encode(&b, drawIcon(k.size)); err != nil {
				return nil, err
			}
			drawn[k.size] = b.Bytes()
		}
		writeChunk(&body, k.kind, drawn[k.size])
	}
	var file bytes.Buffer
	writeChunk(&file, "icns", body.Bytes())
	return file.Bytes(), nil
}

// appIcon is the picture that Wails' own tool takes; it is committed.
const appIcon = "build/appicon.png"

// writeAppIcon draws it again where it is not what is drawn today.
func (b *builder) writeAppIcon() error {
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, drawIcon(256)); err != nil {
		return err
	}
	path := filepath.Join(b.Root, filepath.FromSlash(appIcon))
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, drawn.Bytes()) {
		return nil
	}
	return os.WriteFile(path, drawn.Bytes(), 0o644)
}

// writeChunk writes four letters, the length of everything, and the data.
func writeChunk(b *bytes.Buffer, kind string, data []byte) {
	b.WriteString(kind)
	binary.Write(b, binary.BigEndian, uint32(8+len(data))) // a buffer takes all
	b.Write(data)
}

// drawIcon draws the menu bar's tandem, with two riders, on a tile of the shape that macOS gives its icons. Lengths are
// in units of a 1024th of the width.
func drawIcon(size int) *image.NRGBA {
	const (
		inset, corner     = 100, 185 // of the tile
		left, right, axis = 330, 694, 610
		radius, rim       = 132, 34
		saddle, head      = 330, 62
	)
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	unit := 1024 / float64(size)
	for py := range size {
		for px := range size {
			x, y := (float64(px)+0.5)*unit, (float64(py)+0.5)*unit
			// How far outside the tile's middle part a point is, by axis: the corners are arcs around its corners.
			const half = 512 - inset - corner
			dx, dy := math.Max(math.Abs(x-512)-half, 0), math.Max(math.Abs(y-512)-half, 0)
			tile := covered(math.Hypot(dx, dy)-corner, unit)
			if tile == 0 {
				continue
			}
			ink := 0.0
			draw := func(distance float64) { ink = max(ink, covered(distance, unit)) }
			for _, cx := range []float64{left, right} {
				d := math.Hypot(x-cx, y-axis)
				draw(math.Abs(d-radius) - rim/2)
				draw(d - 40)
				draw(math.Hypot(x-cx-18, y-saddle) - head)
			}
			draw(toSegment(x, y, left, axis, right, axis) - 20)
			draw(toSegment(x, y, left, axis, left+90, axis-130) - 17)
			draw(toSegment(x, y, right, axis, left+90, axis-130) - 17)
			down := (y - inset) / (1024 - 2*inset)
			mix := func(top, bottom float64) uint8 {
				ground := top + (bottom-top)*down
				return uint8(math.Round(ground + (255-ground)*ink))
			}
			img.SetNRGBA(px, py, color.NRGBA{R: mix(58, 16), G: mix(150, 86), B: mix(214, 150), A: uint8(math.Round(255 * tile))})
		}
	}
	return img
}

// covered is how much of a pixel lies inside an edge, by the signed distance of its middle.
func covered(distance, unit float64) float64 { return min(1, max(0, 0.5-distance/unit)) }

// toSegment is the distance of a point from a line between two others.
func toSegment(x, y, x0, y0, x1, y1 float64) float64 {
	dx, dy := x1-x0, y1-y0
	t := min(1, max(0, ((x-x0)*dx+(y-y0)*dy)/(dx*dx+dy*dy)))
	return math.Hypot(x-x0-t*dx, y-y0-t*dy)
}
