//go:build desktop

package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"

	"tandem/app/menu"
)

// iconSize is an icon's width and height in pixels: twice what the menu bar shows.
const iconSize = 36

// iconPNG draws an icon as a template image, black where it is not transparent: the two wheels of a
// tandem and its frame. While a model loads the wheels are open; while tokens come the frame has a
// rider; an error has a mark.
func iconPNG(i menu.Icon) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, iconSize, iconSize))
	const (
		left, right, axis = 9.5, 26.5, 23.0
		radius, rim       = 7.0, 2.4
	)
	for y := range iconSize {
		for x := range iconSize {
			px, py := float64(x)+0.5, float64(y)+0.5
			cover := 0.0
			for _, cx := range []float64{left, right} {
				d := math.Hypot(px-cx, py-axis)
				if i == menu.Loading {
					cover = max(cover, ring(d, radius, rim))
				} else {
					cover = max(cover, ring(d, radius, rim), disc(d, 2.4))
				}
			}
			cover = max(cover, line(px, py, left, axis, right, axis, 1.1))
			switch i {
			case menu.Generating:
				cover = max(cover, disc(math.Hypot(px-13, py-7), 3.6),
					disc(math.Hypot(px-23, py-7), 3.6))
			case menu.Failed:
				cover = max(cover, line(px, py, 18, 2.5, 18, 8.5, 1.6),
					disc(math.Hypot(px-18, py-12.5), 1.7))
			}
			img.SetNRGBA(x, y, color.NRGBA{A: uint8(math.Round(255 * cover))})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes all
	}
	return b.Bytes()
}

// disc, ring and line return how much of a pixel they cover, 0 to 1, by the distance of its middle.
func disc(d, radius float64) float64 { return min(1, max(0, radius-d+0.5)) }

func ring(d, radius, width float64) float64 { return disc(math.Abs(d-radius), width/2) }

func line(px, py, x0, y0, x1, y1, half float64) float64 {
	dx, dy := x1-x0, y1-y0
	t := min(1, max(0, ((px-x0)*dx+(py-y0)*dy)/(dx*dx+dy*dy)))
	return disc(math.Hypot(px-x0-t*dx, py-y0-t*dy), half)
}
