package supervise

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestPlaceFollowsThePath(t *testing.T) {
	for _, c := range []struct {
		bundle string
		want   Location
	}{
		{"", NoBundle},
		{"/Applications/Tandem.app", Installed},
		{"/Applications/Tools/Tandem.app", Installed},
		{"/Users/p/Applications/Tandem.app", Installed},
		{"/Users/q/Applications/Tandem.app", Elsewhere},
		{"/Applications Old/Tandem.app", Elsewhere},
		{"/Users/p/Downloads/Tandem.app", Elsewhere},
		{"/Volumes/Tandem/Tandem.app", Elsewhere},
		{"/private/var/folders/x/T/AppTranslocation/8A/d/Tandem.app", Translocated},
	} {
		if got := LocationOf(c.bundle, "/Users/p"); got != c.want {
			t.Errorf("%q: %q, want %q", c.bundle, got, c.want)
		}
	}
}

func TestBundleIsFoundByItsExecutable(t *testing.T) {
	for path, want := range map[string]string{
		"/Applications/Tandem.app/Contents/MacOS/Tandem": "/Applications/Tandem.app",
		"/src/build/out/darwin-arm64/menubar/Tandem":     "",
		"/src/MacOS/Tandem":                              "",
		"/src/Contents/MacOS/Tandem":                     "",
	} {
		if got := Bundle(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// plant writes files with their modes, and links, which begin with an arrow.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := cutArrow(text); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func cutArrow(text string) (string, bool) {
	if len(text) > 2 && text[:2] == "->" {
		return text[2:], true
	}
	return "", false
}

// The copy is complete, with modes and links. It is named Tandem.app, even if the original is not.
// The old bundle is gone, and nothing else is left.
func TestMoveLeavesCompleteCopy(t *testing.T) {
	from, applications := filepath.Join(t.TempDir(), "Tandem 2.app"),
		filepath.Join(t.TempDir(), "Applications")
	plant(t, from, map[string]string{"Contents/MacOS/Tandem": "new",
		"Contents/Resources/link": "->../MacOS/Tandem"})
	plant(t, applications, map[string]string{"Tandem.app/Contents/MacOS/Tandem": "old",
		"Tandem.app/Contents/stale": "old"})
	got, err := move(os.Rename, slog.New(slog.DiscardHandler), from, applications)
	if err != nil || got != filepath.Join(applications, "Tandem.app") {
		t.Fatalf("%q, %v", got, err)
	}
	text, err := os.ReadFile(filepath.Join(got, "Contents/Resources/link"))
	if err != nil || string(text) != "new" {
		t.Errorf("through the link: %q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(got, "Contents/MacOS/Tandem")); err != nil ||
		info.Mode().Perm() != 0o755 {
		t.Errorf("the executable: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(got, "Contents/stale")); err == nil {
		t.Error("files of the old bundle are among the new ones")
	}
	if entries, err := os.ReadDir(applications); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
	if _, err := os.Stat(from); err != nil {
		t.Errorf("the original: %v", err)
	}
}

// If the copy cannot be made, the old bundle stays.
func TestOldBundleStaysIfCopyFails(t *testing.T) {
	applications := t.TempDir()
	plant(t, applications, map[string]string{"Tandem.app/Contents/MacOS/Tandem": "old"})
	if _, err := move(os.Rename, slog.New(slog.DiscardHandler),
		filepath.Join(t.TempDir(), "Tandem.app"), applications); err == nil {
		t.Fatal("a failed copy gives no error")
	}
	text, err := os.ReadFile(filepath.Join(applications, "Tandem.app/Contents/MacOS/Tandem"))
	if err != nil || string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := os.ReadDir(applications); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
}

// The old bundle is not lost if any step of the exchange fails.
func TestMoveNeverLosesOldBundle(t *testing.T) {
	for name, failing := range map[string]map[int]bool{"the way out": {1: true},
		"the way in": {2: true}, "the way back": {2: true, 3: true}} {
		from, applications := filepath.Join(t.TempDir(), "Tandem.app"), t.TempDir()
		plant(t, from, map[string]string{"Contents/MacOS/Tandem": "new"})
		plant(t, applications, map[string]string{"Tandem.app/Contents/MacOS/Tandem": "old"})
		step := 0
		_, err := move(func(from, to string) error {
			if step++; failing[step] {
				return errors.New("no")
			}
			return os.Rename(from, to)
		}, slog.New(slog.DiscardHandler), from, applications)
		at := filepath.Join(applications, "Tandem.app")
		if failing[3] {
			kept, _ := filepath.Glob(filepath.Join(applications, ".tandem-*", "old"))
			if lost, ok := errors.AsType[*LostError](err); len(kept) != 1 || !ok ||
				lost.At != kept[0] || !strings.Contains(err.Error(), kept[0]) {
				t.Fatalf("%s: kept %q, %v", name, kept, err)
			}
			at = kept[0]
		}
		if text, read := os.ReadFile(filepath.Join(at, "Contents/MacOS/Tandem")); err == nil ||
			string(text) != "old" {
			t.Errorf("%s: %q, %v, %v", name, text, read, err)
		}
	}
}

// An interrupted move is undone. The old bundle comes back, unless another one has its place. The
// folder of the move goes, and other folders stay.
func TestInterruptedMoveIsUndone(t *testing.T) {
	const app = "Tandem.app/Contents/MacOS/Tandem"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  map[string]string // all remaining files, by path
	}{
		{"cut short between the two", map[string]string{".tandem-1/old/" + app[11:]: "old", ".tandem-1/new/" + app[11:]: "new"}, map[string]string{app: "old"}},
		{"while it copied", map[string]string{app: "old", ".tandem-1/new/Contents/x": "half"}, map[string]string{app: "old"}},
		{"while it copied for the first time", map[string]string{".tandem-1/new/Contents/x": "half"}, nil},
		{"while it cleared away", map[string]string{app: "new", ".tandem-1/old/Contents/x": "half"}, map[string]string{app: "new"}},
		{"another program's", map[string]string{".tandem-1/notes": "x", ".tandem-1/old/x": "y"}, map[string]string{".tandem-1/notes": "x", ".tandem-1/old/x": "y"}},
	} {
		applications := t.TempDir()
		plant(t, applications, c.files)
		repairMoves(slog.New(slog.DiscardHandler), applications)
		got := map[string]string{}
		if err := filepath.WalkDir(applications, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, _ := filepath.Rel(applications, path)
			text, err := os.ReadFile(path)
			got[rel] = string(text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(applications)
		if err != nil || !maps.Equal(got, c.want) || len(entries) > 1 || len(c.want) == 0 &&
			len(entries) > 0 {
			t.Errorf("%s: left %q in %v, %v, want %q", c.name, got, entries, err, c.want)
		}
	}
}

// Each program finds the others in each place where it can be installed.
func TestProgramsFindEachOther(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	app, built := "Tandem.app/Contents/", filepath.Join("build/out",
		runtime.GOOS+"-"+runtime.GOARCH, "cli/tandem")
	for _, c := range []struct{ self, tandem, window string }{
		{app + "MacOS/Tandem", app + "Resources/bin/tandem", app + "Helpers/Tandem Window.app/Contents/MacOS/Tandem Window"},
		{app + "Helpers/Tandem Window.app/Contents/MacOS/Tandem Window", app + "Resources/bin/tandem", ""},
		{"menubar/Tandem", "cli/tandem", "window/Tandem Window"},
		{"window/Tandem Window", "cli/tandem", ""},
		{"build/bin/Tandem", built, ""}, // built by Wails' own tool
		{"build/bin/" + app + "MacOS/Tandem", built, ""},
	} {
		dir := t.TempDir()
		plant(t, dir, map[string]string{c.self: "", c.tandem: ""})
		if c.window != "" {
			plant(t, dir, map[string]string{c.window: ""})
		}
		got := Beside(filepath.Join(dir, c.self))
		if got.Tandem != filepath.Join(dir, c.tandem) || c.window != "" &&
			got.Window != filepath.Join(dir, c.window) {
			t.Errorf("%s: %+v", c.self, got)
		}
	}
	dir := t.TempDir()
	plant(t, dir, map[string]string{"bin/tandem": "", "elsewhere/Tandem": ""})
	if got := Beside(filepath.Join(dir, "elsewhere/Tandem")); got.Tandem != filepath.Join(dir,
		"cli/tandem") {
		t.Errorf("nowhere: %+v", got)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	if got := Beside(filepath.Join(dir, "elsewhere/Tandem")); got.Tandem != filepath.Join(dir,
		"bin/tandem") {
		t.Errorf("in PATH: %+v", got)
	}
}
