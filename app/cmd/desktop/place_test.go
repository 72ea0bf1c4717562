//go:build desktop

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestPlaceIsKept(t *testing.T) {
	file := placeFile(t.TempDir())
	usual := place{Width: usualWidth, Height: usualHeight}
	if got := readPlace(file); got != usual {
		t.Errorf("without a file the place is %+v, want %+v", got, usual)
	}
	want := place{X: 40, Y: 60, Width: 1300, Height: 900, Largest: true}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "kept")
	if err := errors.Join(os.Link(file, kept), place{Width: 700, Height: 500}.write(file),
		os.Rename(kept, file)); err != nil {
		t.Fatal(err)
	}
	want.Known = true
	if got := readPlace(file); got != want { // a full disk leaves the file before
		t.Errorf("the place is %+v, want %+v", got, want)
	}
	for _, text := range []string{"", "{", `{"width":10,"height":10}`, `[]`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readPlace(file); got != usual {
			t.Errorf("of %q the place is %+v, want %+v", text, got, usual)
		}
	}
	if err := want.write(filepath.Join(file, "below")); err == nil {
		t.Error("a place is kept below a file")
	}
}

func TestPlaceIsOnScreen(t *testing.T) {
	screens := []screen{{1440, 900}, {1920, 1080}}
	for _, x := range []struct {
		p    place
		want bool
	}{
		{place{X: 0, Y: 0, Width: 1120}, true},
		{place{X: 1700, Y: 900, Width: 1120}, true},
		{place{X: 1900, Y: 10, Width: 1120}, false},
		{place{X: 10, Y: 1060, Width: 1120}, false},
		{place{X: -1000, Y: 10, Width: 1120}, true},
		{place{X: -1100, Y: 10, Width: 1120}, false},
		{place{X: 10, Y: -30, Width: 1120}, false},
	} {
		if got := x.p.on(screens); got != x.want {
			t.Errorf("%+v is reachable: %v, want %v", x.p, got, x.want)
		}
	}
	if got := (place{Width: 3000, Height: 2000}).fit(screens); got.Width != 1920 || got.Height != 1080 {
		t.Errorf("a window has %d x %d on smaller screens", got.Width, got.Height)
	}
	if got := (place{Width: 800, Height: 600}).fit(nil); got.Width != 800 || got.Height != 600 {
		t.Errorf("without known screens it has %d x %d", got.Width, got.Height)
	}
}
