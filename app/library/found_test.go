package library

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/models/hub"
)

// The search does not read a folder with too many names to its end.
func TestSearchStopsAtItsBound(t *testing.T) {
	many := t.TempDir()
	for i := range 50 {
		if err := os.Mkdir(filepath.Join(many, fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := &finder{ctx: t.Context(), left: 20, seen: map[string]bool{}}
	f.folder(many, control.PlaceFolder, foundDepth)
	if !f.out.Cut || f.left != 0 {
		t.Errorf("%d names left of 20, cut %t", f.left, f.out.Cut)
	}
}

// Every model of the catalogue has a name and a whole commit at the hub. Package pool tests that it
// takes its drafter.
func TestSuggestedModelsCanBePulled(t *testing.T) {
	list, err := suggested()
	if err != nil {
		t.Fatal(err)
	}
	classes := []int{8, 16, 24, 36, 64}
	last, seen := 0, map[string]bool{}
	for _, m := range list {
		for id, revision := range map[string]string{m.ID: m.Revision, m.Drafter: m.DrafterRevision} {
			if id == "" {
				continue
			}
			if _, _, err := hub.Parse(hubName(id, revision)); err != nil || seen[id] {
				t.Errorf("%s: %v", id, err)
			}
			if seen[id] = true; revision != "" && (len(revision) != 40 || strings.Trim(revision, "0123456789abcdef") != "") {
				t.Errorf("%s: %q is no commit", id, revision)
			}
		}
		if !slices.Contains(classes, m.From) || m.From < last || m.What == "" {
			t.Errorf("%+v", m)
		}
		last = m.From
	}
	for _, class := range classes {
		if !slices.ContainsFunc(list, func(m control.Suggested) bool { return m.From == class }) {
			t.Errorf("nothing for %d GB", class)
		}
	}
}
