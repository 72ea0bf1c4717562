package ui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestEachFileOfBrowserTestsIsFound expects each test file, and a time limit for a test that hangs.
func TestEachFileOfBrowserTestsIsFound(t *testing.T) {
	dir := t.TempDir()
	if _, err := browserTestFiles(dir); err == nil {
		t.Error("a folder without tests gives no error")
	}
	if err := os.Mkdir(filepath.Join(dir, "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.test.mjs", "b.test.mjs", "server.mjs"} {
		if err := os.WriteFile(filepath.Join(dir, "test", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(dir, "test", "a.test.mjs"),
		filepath.Join(dir, "test", "b.test.mjs")}
	got, err := browserTestFiles(dir)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if args := browserTestArgs(want[0], browserTestLimit); !slices.Contains(args, "--test-timeout=900000") {
		t.Errorf("the arguments %q have no limit", args)
	}
}

// TestPagesAreWeighed has a page that shares a file with the first paint, and one with another page.
func TestPagesAreWeighed(t *testing.T) {
	const manifest = `{
		"index.html": {"file": "assets/index.js", "name": "index", "isEntry": true,
			"imports": ["_shared.js"], "dynamicImports": ["Runs.svelte", "Models.svelte"], "css": ["assets/index.css"]},
		"_shared.js": {"file": "assets/shared.js", "name": "shared", "imports": ["index.html"]},
		"_plot.js": {"file": "assets/plot.js", "name": "plot", "imports": ["_shared.js"]},
		"Runs.svelte": {"file": "assets/Runs.js", "name": "Runs", "isDynamicEntry": true,
			"imports": ["index.html", "_plot.js"], "css": ["assets/Runs.css"]},
		"Models.svelte": {"file": "assets/Models.js", "name": "Models", "isDynamicEntry": true,
			"imports": ["_plot.js", "_shared.js"]}
	}`
	dist := fstest.MapFS{".vite/manifest.json": {Data: []byte(manifest)}}
	for file, n := range map[string]int{"index.html": 1, "assets/index.js": 20,
		"assets/index.css": 300, "assets/shared.js": 4000, "assets/plot.js": 50_000, "assets/Runs.js": 600_000,
		"assets/Runs.css": 2_000_000, "assets/Models.js": 30_000_000} {
		dist[file] = &fstest.MapFile{Data: make([]byte, n)}
	}
	pages, err := weighPages(dist)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{firstPaint: 4321, "Runs": 2_650_000, "Models": 30_050_000}
	for name, n := range want {
		if p := pages[name]; p.plain != n || p.packed <= 0 || p.packed >= n && n > 4321 {
			t.Errorf("%s has %d bytes, gzipped %d, want %d", name, p.plain, p.packed, n)
		}
	}
	if len(pages) != len(want) {
		t.Errorf("the pages are %v", pages)
	}
	delete(dist, "assets/plot.js")
	if _, err := weighPages(dist); err == nil {
		t.Error("a missing file gives no error")
	}
}

// TestOtherSizesAreErrors expects a page that is a tenth larger or smaller to pass, and not a byte more.
func TestOtherSizesAreErrors(t *testing.T) {
	for _, c := range []struct {
		first, runs int
		recorded    map[string]int
		want        string // part of the error, empty = none
	}{
		{100_000, 1100, map[string]int{firstPaint: 100_000, "Runs": 1000}, ""},
		{100_000, 900, map[string]int{firstPaint: 100_000, "Runs": 1000}, ""},
		{100_000, 899, map[string]int{firstPaint: 100_000, "Runs": 1000}, "smaller by more than a tenth: write 899"},
		{100_000, 1101, map[string]int{firstPaint: 100_000, "Runs": 1000}, "grown by more than a tenth: write 1101"},
		{100_000, 1000, map[string]int{firstPaint: 90_000, "Runs": 1000}, "write 100000"},
		{100_000, 1000, map[string]int{firstPaint: 100_000}, "has no size for Runs: write 1000"},
		{100_000, 1000, map[string]int{firstPaint: 100_000, "Runs": 1000, "Old": 1}, "no page Old"},
		{mostFirst, 1000, map[string]int{firstPaint: mostFirst, "Runs": 1000}, ""},
		{mostFirst + 1, 1000, map[string]int{firstPaint: mostFirst, "Runs": 1000}, "first paint loads 120001"},
	} {
		var out strings.Builder
		pages := map[string]size{firstPaint: {3 * c.first, c.first}, "Runs": {3 * c.runs, c.runs}}
		err := compareSizes(&out, pages, c.recorded)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d and %d against %v: %v, want %q", c.first, c.runs, c.recorded, err, c.want)
		}
		if got := strings.Count(out.String(), "\n"); got != 2 {
			t.Errorf("printed %q", out.String())
		}
	}
}
