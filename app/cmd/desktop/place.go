//go:build desktop

package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tandem/app/home"
)

// The size of a window that was never shown, and the smallest one.
const (
	usualWidth  = 1120
	usualHeight = 760
	minWidth    = 640
	minHeight   = 480
)

// A place is where a window was, and how large.
type place struct {
	X       int  `json:"x"`
	Y       int  `json:"y"`
	Width   int  `json:"width"`
	Height  int  `json:"height"`
	Largest bool `json:"largest"` // it filled the screen; the rest is its place before that
	Known   bool `json:"-"`       // it was read from a file
}

// placeFile is where the place is kept, in Tandem's home.
func placeFile(dir string) string { return filepath.Join(dir, "window.json") }

// readPlace returns the place of the last window. Without a file that can be used, the system
// chooses the place and the size is the usual one.
func readPlace(file string) place {
	usual := place{Width: usualWidth, Height: usualHeight}
	text, err := os.ReadFile(file)
	if err != nil {
		return usual
	}
	var p place
	if json.Unmarshal(text, &p) != nil || p.Width < minWidth || p.Height < minHeight {
		return usual
	}
	p.Known = true
	return p
}

// write keeps a place. A window that cannot keep it opens where the system wants the next time.
func (p place) write(file string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return home.WritePrivate(file, string(text))
}

// A screen is the size of one screen.
type screen struct{ width, height int }

// grip is how much of a title bar has to be on a screen so that a person can move the window.
const grip = 80

// on reports whether a person could reach a window at this place on one of the screens. Screens may
// have changed since it was kept.
func (p place) on(screens []screen) bool {
	for _, s := range screens {
		if p.X > -p.Width+grip && p.X < s.width-grip && p.Y >= 0 && p.Y < s.height-grip {
			return true
		}
	}
	return false
}

// fit makes a window no larger than the largest screen.
func (p place) fit(screens []screen) place {
	var most screen
	for _, s := range screens {
		most.width, most.height = max(most.width, s.width), max(most.height, s.height)
	}
	if most.width > 0 {
		p.Width = max(minWidth, min(p.Width, most.width))
		p.Height = max(minHeight, min(p.Height, most.height))
	}
	return p
}
