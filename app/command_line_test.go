package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// TestCommandLine: the link is made where nothing is, renewed where it leads to
// where Tandem was, and nothing of others is touched.
func TestCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		there func(path string) error // what is at the link's place
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
			got, err := client.CommandLine(t.Context())
			if err != nil || got.Link != c.want || !got.OnPath || got.Path != path {
				t.Fatalf("%+v %v", got, err)
			}
			made, err := client.LinkCommandLine(t.Context())
			after, _ := os.Readlink(path)
			if c.want == control.LinkForeign {
				if codeOf(err) != control.CodeFolder ||
					!strings.Contains(err.Error(), "does not replace") || after != before {
					t.Errorf("%+v %v, it leads to %q", made, err, after)
				}
				return
			}
			if err != nil || made.Link != control.LinkOurs || after != program {
				t.Errorf("%+v %v, it leads to %q", made, err, after)
			}
			if made, err = client.LinkCommandLine(t.Context()); err != nil ||
				made.Link != control.LinkOurs {
				t.Errorf("made twice: %+v %v", made, err)
			}
		})
	}
}

// TestPassingBundle: no link leads into a bundle that will not stay where it is.
func TestPassingBundle(t *testing.T) {
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
		_, err := start(t, o, "").client(t).LinkCommandLine(t.Context())
		if installed != (err == nil) || err != nil && codeOf(err) != control.CodeFolder {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := os.Lstat(filepath.Join(user, ".local")); installed != (err == nil) {
			t.Errorf("%s: something was made, or nothing: %v", dir, err)
		}
	}
}
