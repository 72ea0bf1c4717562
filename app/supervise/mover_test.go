package supervise

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOffer walks through what a person may answer where a bundle may lie.
func TestOffer(t *testing.T) {
	home, good := t.TempDir(), filepath.Join(t.TempDir(), "Applications")
	blocked := filepath.Join(t.TempDir(), "blocked") // a file, so that no folder can be made of it
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "Tandem.app")
	plant(t, bundle, map[string]string{"Contents/MacOS/Tandem": "new"})
	asked, opened := 0, []string(nil)
	offer := func(place Place, yes bool) (bool, error) {
		return Mover{
			Bundle: bundle, Place: place, Folders: []string{blocked, good}, Note: filepath.Join(home, "run", "stay"),
			Ask:  func(string) bool { asked++; return yes },
			Open: func(path string) error { opened = append(opened, path); return nil },
			Log:  slog.New(slog.DiscardHandler),
		}.Offer()
	}
	step := func(what string, place Place, yes, moved bool, questions int) {
		t.Helper()
		asked = 0
		got, err := offer(place, yes)
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
	if err := os.Remove(filepath.Join(home, "run", "stay")); err != nil {
		t.Fatal(err)
	}
	step("elsewhere, accepted", Elsewhere, true, true, 1)
	if want := []string{filepath.Join(good, "Tandem.app")}; !slices.Equal(opened, want) {
		t.Errorf("opened %q, want %q", opened, want)
	}
}

// TestOfferFails: what cannot be moved goes on where it is, and says why.
func TestOfferFails(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "blocked")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "Tandem.app")
	plant(t, bundle, map[string]string{"Contents/MacOS/Tandem": "new"})
	moved, err := Mover{
		Bundle: bundle, Place: Elsewhere, Folders: []string{blocked}, Note: filepath.Join(t.TempDir(), "stay"),
		Log: slog.New(slog.DiscardHandler), Ask: func(string) bool { return true }, Open: func(string) error { t.Error("something was opened"); return nil },
	}.Offer()
	if moved || err == nil {
		t.Errorf("moved %t, %v", moved, err)
	}
}

// TestOfferSays: who is asked is told what goes, and that it is newer if it is.
func TestOfferSays(t *testing.T) {
	plist := func(version string) map[string]string {
		return map[string]string{"Contents/Info.plist": "<dict>\n\t<key>CFBundleShortVersionString</key>\n\t<string>" + version + "</string>\n</dict>"}
	}
	bundle := filepath.Join(t.TempDir(), "Tandem.app")
	plant(t, bundle, plist("1.9.0"))
	for there, want := range map[string]string{
		"": "Move Tandem to the Applications folder?", "1.8.9": "Replace Tandem 1.8.9 in FOLDER with this one, 1.9.0?",
		"1.9.0": "Replace Tandem 1.9.0 in FOLDER with this one, 1.9.0?", "1.10.0": "Replace Tandem 1.10.0 in FOLDER with this older one, 1.9.0?",
		"new": "Replace the Tandem in FOLDER with this one?",
	} {
		first, folder := t.TempDir(), t.TempDir()
		if there != "" {
			plant(t, filepath.Join(folder, "Tandem.app"), plist(there))
		}
		asked := ""
		moved, err := Mover{
			Bundle: bundle, Place: Translocated, Folders: []string{first, folder}, Log: slog.New(slog.DiscardHandler),
			Ask: func(question string) bool { asked = question; return false },
		}.Offer()
		if want = strings.ReplaceAll(want, "FOLDER", folder); moved || err != nil || !strings.HasPrefix(asked, want+"\n") {
			t.Errorf("%s is there: asked %q, want %q; %v", there, asked, want, err)
		}
	}
}
