package supervise

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A person may refuse, accept or be asked again, wherever the bundle is.
func TestOfferFollowsTheAnswer(t *testing.T) {
	home, good := t.TempDir(), filepath.Join(t.TempDir(), "Applications")
	blocked := filepath.Join(t.TempDir(), "blocked") // a file, so that no folder can be made of it
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "Tandem.app")
	plant(t, bundle, map[string]string{"Contents/MacOS/Tandem": "new"})
	asked, opened := 0, []string(nil)
	offer := func(location Location, yes bool) (bool, error) {
		return Relocator{
			Bundle: bundle, Location: location, Folders: []string{blocked, good},
			Note: filepath.Join(home, "run", "stay"),
			Ask:  func(string) bool { asked++; return yes },
			Open: func(path string) error { opened = append(opened, path); return nil },
			Log:  slog.New(slog.DiscardHandler),
		}.Offer()
	}
	step := func(what string, location Location, yes, moved bool, questions int) {
		t.Helper()
		asked = 0
		got, err := offer(location, yes)
		if err != nil || got != moved || asked != questions {
			t.Errorf("%s: moved %t, asked %d times, %v", what, got, asked, err)
		}
	}
	step("installed", Installed, true, false, 0)
	step("no bundle", NoBundle, true, false, 0)
	step("translocated, refused", Translocated, false, false, 1)
	step("translocated, refused again", Translocated, false, false, 1)
	step("elsewhere, refused", Elsewhere, false, false, 1)
	step("elsewhere, remembered", Elsewhere, true, false, 0)
	// The note is replaced as a whole, so that a full disk leaves the one before.
	note, kept := filepath.Join(home, "run", "stay"), filepath.Join(home, "kept")
	if err := errors.Join(os.WriteFile(note, []byte("/another/Tandem.app"), 0o600), os.Link(note, kept)); err != nil {
		t.Fatal(err)
	}
	step("elsewhere, refused for another bundle before", Elsewhere, false, false, 1)
	if text, err := os.ReadFile(kept); string(text) != "/another/Tandem.app" {
		t.Errorf("the note before holds %q, %v", text, err)
	}
	if err := os.Remove(filepath.Join(home, "run", "stay")); err != nil {
		t.Fatal(err)
	}
	step("elsewhere, accepted", Elsewhere, true, true, 1)
	if want := []string{filepath.Join(good, "Tandem.app")}; !slices.Equal(opened, want) {
		t.Errorf("opened %q, want %q", opened, want)
	}
}

// A bundle that cannot be moved runs on where it is, and the person reads why.
func TestBundleThatCannotMoveRunsOn(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "blocked")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "Tandem.app")
	plant(t, bundle, map[string]string{"Contents/MacOS/Tandem": "new"})
	moved, err := Relocator{
		Bundle: bundle, Location: Elsewhere, Folders: []string{blocked},
		Note: filepath.Join(t.TempDir(), "stay"),
		Log:  slog.New(slog.DiscardHandler), Ask: func(string) bool { return true },
		Open: func(string) error { t.Error("something was opened"); return nil },
	}.Offer()
	if moved || err == nil {
		t.Errorf("moved %t, %v", moved, err)
	}
}

// The question names the Tandem that is replaced, and says if this one is older. The move does what
// the question said, for a bundle of any name.
func TestOfferDoesWhatItSaid(t *testing.T) {
	plist := func(version string) map[string]string {
		return map[string]string{"Contents/Info.plist": "<dict>\n\t<key>CFBundleShortVersionString</key>\n\t<string>" +
			version + "</string>\n</dict>"}
	}
	for there, want := range map[string]string{
		"":       "Move Tandem to the Applications folder?",
		"1.8.9":  "Replace Tandem 1.8.9 in FOLDER with this one, 1.9.0?",
		"1.9.0":  "Replace Tandem 1.9.0 in FOLDER with this one, 1.9.0?",
		"1.10.0": "Replace Tandem 1.10.0 in FOLDER with this older one, 1.9.0?",
		"new":    "Replace the Tandem in FOLDER with this one?",
	} {
		for _, name := range []string{"Tandem.app", "Tandem 2.app"} {
			bundle := filepath.Join(t.TempDir(), name)
			plant(t, bundle, plist("1.9.0"))
			first, folder := t.TempDir(), t.TempDir()
			at := filepath.Join(first, "Tandem.app")
			if there != "" {
				at = filepath.Join(folder, "Tandem.app")
				plant(t, at, plist(there))
			}
			asked, opened := "", ""
			moved, err := Relocator{
				Bundle: bundle, Location: Translocated, Folders: []string{first, folder},
				Log:  slog.New(slog.DiscardHandler),
				Ask:  func(question string) bool { asked = question; return true },
				Open: func(path string) error { opened = path; return nil },
			}.Offer()
			if want := strings.ReplaceAll(want, "FOLDER", folder); !moved || err != nil ||
				!strings.HasPrefix(asked, want+"\n") || opened != at {
				t.Errorf("%s is there, %s comes: asked %q, want %q; opened %s, want %s; %v",
					there, name, asked, want, opened, at, err)
			}
			if all, err := os.ReadDir(filepath.Dir(at)); err != nil || len(all) != 1 ||
				versionOf(at) != "1.9.0" {
				t.Errorf("%s is there, %s comes: the folder then has %v, %v", there, name, all, err)
			}
			if entries, err := os.ReadDir(first); err != nil || there != "" && len(entries) > 0 {
				t.Errorf("%s is there, %s comes: the other folder has %v, %v",
					there, name, entries, err)
			}
		}
	}
}

// If the Tandem named in the question cannot be replaced, no second one is installed elsewhere.
func TestFailedReplacementInstallsNoSecond(t *testing.T) {
	for name, failing := range map[string]int{"the way out": 1, "the way in": 2} {
		o := newOffer(t, failing, failing)
		plant(t, o.Folders[0], map[string]string{"Tandem.app/Contents/MacOS/Tandem": "old"})
		moved, err := o.Offer()
		text, _ := os.ReadFile(filepath.Join(o.Folders[0], "Tandem.app/Contents/MacOS/Tandem"))
		second, _ := os.ReadDir(o.Folders[1])
		if moved || err == nil || string(text) != "old" || len(second) > 0 {
			t.Errorf("%s: moved %t, %v; the bundle has %q, and the other folder %v",
				name, moved, err, text, second)
		}
	}
}

// If the old bundle could neither be replaced nor put back, the person reads where it is. Nothing
// is installed elsewhere or opened. The next offer puts the bundle back. The same holds for a
// bundle that came while the question was shown.
func TestLostBundleIsPutBackByNextOffer(t *testing.T) {
	for _, late := range []bool{false, true} {
		o := newOffer(t, 2, 3)
		installed := func() {
			plant(t, o.Folders[0], map[string]string{"Tandem.app/Contents/MacOS/Tandem": "old"})
		}
		if late {
			o.Ask = func(string) bool { installed(); return true }
		} else {
			installed()
		}
		moved, err := o.Offer()
		lost, ok := errors.AsType[*LostError](err)
		if moved || !ok {
			t.Fatalf("moved %t, %v", moved, err)
		}
		if !strings.HasPrefix(err.Error(), "the old Tandem lies in "+lost.At) {
			t.Errorf("the error is %q, and the old bundle lies in %s", err, lost.At)
		}
		if second, _ := os.ReadDir(o.Folders[1]); len(second) > 0 {
			t.Errorf("the other folder has %v", second)
		}
		o.Ask = func(string) bool { return false }
		if _, err := o.Offer(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(filepath.Join(o.Folders[0], "Tandem.app/Contents/MacOS/Tandem"))
		if entries, _ := os.ReadDir(o.Folders[0]); err != nil || string(text) != "old" ||
			len(entries) != 1 {
			t.Errorf("after the next offer: %q, %v, %v", text, err, entries)
		}
	}
}

// newOffer returns an offer that the person accepts. Its renames number from up to number to fail,
// counted from 1. It fails the test if it opens anything.
func newOffer(t *testing.T, from, to int) Relocator {
	bundle := filepath.Join(t.TempDir(), "Tandem.app")
	plant(t, bundle, map[string]string{"Contents/MacOS/Tandem": "new"})
	step := 0
	return Relocator{
		Bundle: bundle, Location: Elsewhere, Folders: []string{t.TempDir(), t.TempDir()},
		Note: filepath.Join(t.TempDir(), "stay"),
		Ask:  func(string) bool { return true },
		Open: func(path string) error { t.Errorf("%s was opened", path); return nil },
		Log:  slog.New(slog.DiscardHandler),
		rename: func(a, b string) error {
			if step++; step >= from && step <= to {
				return errors.New("no")
			}
			return os.Rename(a, b)
		},
	}
}

// If the copy cannot be opened, the person reads where it is, and this process runs on.
func TestCopyThatCannotOpenIsReported(t *testing.T) {
	o := newOffer(t, 0, 0)
	o.Open = func(string) error { return errors.New("no shell") }
	at := filepath.Join(o.Folders[0], "Tandem.app")
	if moved, err := o.Offer(); moved || err == nil ||
		!strings.HasPrefix(err.Error(), "this Tandem was copied to "+at) {
		t.Errorf("moved %t, %v", moved, err)
	}
	if _, err := os.Stat(at); err != nil {
		t.Error(err)
	}
}
