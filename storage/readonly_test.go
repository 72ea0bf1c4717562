package storage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestReadOnlyChangesNoFile expects that reading changes neither the file nor the files beside it,
// whether or not the file was closed.
func TestReadOnlyChangesNoFile(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"closed": func(*testing.T, string) {}, "crashed": crash,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			db := mustOpen(t, path)
			run, err := db.Runs.Begin(t.Context(), Run{})
			if err := errors.Join(err, db.SetSetting(t.Context(), "in the file", "yes"),
				db.Close()); err != nil {
				t.Fatal(err)
			}
			spoil(t, path)
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
			before := files(t, path)
			if db, err = OpenReadOnly(path); err != nil {
				t.Fatal(err)
			}
			key := "in the file"
			if name == "crashed" {
				key = "in the log"
			}
			if v, err := db.Setting(t.Context(), key); v != "yes" || err != nil {
				t.Errorf("setting %q, %v; want yes", v, err)
			}
			// In the other case crash has opened the file and ended the run.
			if r, err := db.Runs.Get(t.Context(), run.ID); err != nil || !r.EndedAt.IsZero() &&
				name == "closed" {
				t.Errorf("the run is %+v, %v; want it in flight", r, err)
			}
			wantCode(t, db.SetSetting(t.Context(), key, "no"), ReadOnly)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if after := files(t, path); after != before {
				t.Error("the file was changed, or another one was made")
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o644 {
				t.Errorf("mode %v, %v; want 644", st.Mode(), err)
			}
		})
	}
}

func TestReadOnlyRefusesOtherSchemas(t *testing.T) {
	dir := t.TempDir()
	made := func(name string, make func(path string)) string {
		path := filepath.Join(dir, name)
		make(path)
		return path
	}
	for name, c := range map[string]struct {
		path string
		code Code
	}{
		"missing":     {filepath.Join(dir, "none.db"), ReadOnly},
		"empty":       {made("empty.db", func(path string) { copyFile(t, os.DevNull, path) }), Empty},
		"unversioned": {made("zero.db", func(path string) { atVersion(t, path, 0) }), Empty},
		"older":       {made("older.db", func(path string) { atVersion(t, path, 30) }), Older},
		"newer": {made("newer.db", func(path string) {
			db := mustOpen(t, path)
			_, err := db.w.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}), Newer},
		"no database": {made("text.db", func(path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("func main() {}\n"), 100),
				0o600); err != nil {
				t.Fatal(err)
			}
		}), Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := filepath.Glob(c.path + "*")
			_, err := OpenReadOnly(c.path)
			wantCode(t, err, c.code)
			if after, _ := filepath.Glob(c.path + "*"); !slices.Equal(before, after) {
				t.Errorf("before there were %v, now there are %v; want no change", before, after)
			}
		})
	}
}
