package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/bridge"
)

// Each bench takes the words that presets give it. It is cancelled before it measures.
func TestPresetsFitTheirBenches(t *testing.T) {
	c := newConsole(newHome(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := 0
	for _, p := range bridge.Presets() {
		for _, words := range p.Commands() {
			if words[0] != "tandem-lab" || words[1] != "bench" {
				continue
			}
			ran++
			words = slices.Clone(words[1:])
			for i, word := range words {
				switch {
				case strings.HasPrefix(word, "$"):
					words[i] = filepath.Join(t.TempDir(), "none")
				case word == "{report}":
					words[i] = filepath.Join(t.TempDir(), "report.json")
				}
				for _, x := range p.Params {
					if word == "{"+x.Name+"}" {
						words[i] = fmt.Sprint(x.Default)
					}
				}
			}
			if code := c.lab(ctx, words...); code == 2 {
				t.Errorf("%s: tandem-lab %s: %s", p.Name, strings.Join(words, " "), c.stderr)
			}
		}
	}
	if ran < 8 {
		t.Errorf("%d presets have a bench", ran)
	}
}
