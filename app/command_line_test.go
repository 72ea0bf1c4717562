package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// LinkCommandLine makes the link where there is nothing. It renews a link that leads to an old
// place of Tandem, and touches nothing that belongs to others.
func TestCommandLineLinkReplacesOnlyTandemsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		there func(path string) error // makes what is at the place of the link
		want  control.LinkKind
	}{
		"nothing": {func(string) error { return nil }, control.LinkAbsent},
		"a file": {func(p string) error {
			return os.WriteFile(p, []byte("#!/bin/sh\n"), 0o755)
		}, control.LinkForeign},
		"a folder": {func(p string) error { return os.Mkdir(p, 0o755) }, control.LinkForeign},
		"another's link": {func(p string) error { return os.Symlink("/bin/sh", p) },
			control.LinkForeign},
		"another's old link": {func(p string) error { return os.Symlink("/nowhere/bicycle", p) },
			control.LinkForeign},
		"another's tandem": {func(p string) error { return os.Symlink("/nowhere/tandem", p) },
			control.LinkForeign},
		"an old bundle": {func(p string) error {
			return os.Symlink("/Users/ada/Downloads/Tandem.app/Contents/Resources/bin/tandem", p)
		}, control.LinkStale},
	} {
		t.Run(name, func(t *testing.T) {
			user := t.TempDir()
			bin := filepath.Join(user, ".local", "bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			path, program := filepath.Join(bin, "tandem"), filepath.Join(user, "tandem")
			if err := c.there(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Readlink(path)
			client := start(t, Options{UserHome: user, Program: program, Path: "/bin:" + bin},
				"").client(t)
			got, err := control.Ask(t.Context(), client, control.GetCommandLine)
			if err != nil || got.Link != c.want || !got.OnPath || got.Path != path {
				t.Fatalf("the link is %+v %v, want %s at %s", got, err, c.want, path)
			}
			made, err := control.Ask(t.Context(), client, control.LinkCommandLine)
			after, _ := os.Readlink(path)
			if c.want == control.LinkForeign {
				if codeOf(err) != control.CodeFolder ||
					!strings.Contains(err.Error(), "does not replace") || after != before {
					t.Errorf("LinkCommandLine: %+v %v, the link leads to %q", made, err, after)
				}
				return
			}
			if err != nil || made.Link != control.LinkOurs || after != program {
				t.Errorf("LinkCommandLine: %+v %v, the link leads to %q", made, err, after)
			}
			if made, err = control.Ask(t.Context(), client, control.LinkCommandLine); err != nil ||
				made.Link != control.LinkOurs {
				t.Errorf("linked a second time: %+v %v", made, err)
			}
		})
	}
}

// LinkCommandLine refuses a bundle that will not stay where it is: in a translocation folder, on
// a disk image or in Downloads. Then it makes no folder.
func TestCommandLineIsLinkedOnlyToAnInstalledBundle(t *testing.T) {
	for dir, installed := range map[string]bool{
		"/private/var/folders/x/AppTranslocation/ABC/d": false,
		"/Volumes/Tandem": false,
		"~/Downloads":     false,
		"~/Applications":  true,
		"/Applications":   true,
	} {
		user := t.TempDir()
		o := Options{UserHome: user, Program: strings.Replace(dir, "~", user, 1) + "/Tandem.app" +
			inBundle}
		_, err := control.Ask(t.Context(), start(t, o, "").client(t), control.LinkCommandLine)
		if installed != (err == nil) || err != nil && codeOf(err) != control.CodeFolder {
			t.Errorf("in %s: %v, want a link: %t", dir, err, installed)
		}
		if _, err := os.Lstat(filepath.Join(user, ".local")); installed != (err == nil) {
			t.Errorf("in %s: the folder .local: %v, want it: %t", dir, err, installed)
		}
	}
}
