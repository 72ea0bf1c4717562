package storage

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fill makes a file with many pages in it and closes it.
func fill(t *testing.T, path string) {
	t.Helper()
	db := mustOpen(t, path)
	for range 200 {
		r, err := db.Runs.Begin(t.Context(), Run{Client: strings.Repeat("x", 1000), Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Runs.Finish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, offset int64, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(slices.Repeat([]byte{0xa5}, n), offset); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedFileIsLeftAlone(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, path string)
	}{
		{"another file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 1000)),
				0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"first page", func(t *testing.T, path string) { overwrite(t, path, 0, 512) }},
		{"schema", func(t *testing.T, path string) { overwrite(t, path, 100, 3000) }},
		{"page inside, found by the check after a crash", func(t *testing.T, path string) {
			crash(t, path)
			overwrite(t, path, 20*4096, 8*4096)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			fill(t, path)
			test.damage(t, path)
			before := files(t, path)
			_, err := Open(path, Options{})
			e := wantCode(t, err, Corrupt)
			for _, word := range []string{path, "damaged", "move it aside"} {
				if !strings.Contains(e.Message, word) {
					t.Errorf("message %q lacks %q", e.Message, word)
				}
			}
			if files(t, path) != before {
				t.Error("a damaged file was changed by opening it")
			}
			// The advice works.
			for _, suffix := range []string{"", "-wal", "-shm"} {
				os.Rename(path+suffix, path+suffix+".damaged")
			}
			mustOpen(t, path)
		})
	}
}

// crash leaves the file at path as a killed process leaves it, with rows in the log.
func crash(t *testing.T, path string) {
	t.Helper()
	crashAfter(t, path, func(db *DB) error { return db.SetSetting(t.Context(), "in the log", "yes") })
}

// crashAfter is crash for a process that did something with the file.
func crashAfter(t *testing.T, path string, do func(*DB) error) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "live.db")
	copyFile(t, path, live)
	db := mustOpen(t, live)
	if err := do(db); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		copyFile(t, live+suffix, path+suffix)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCrashedFileOpens is the control of the last case of TestDamagedFileIsLeftAlone. Without
// damage the same file opens, with its log.
func TestCrashedFileOpens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	fill(t, path)
	crash(t, path)
	db := mustOpen(t, path)
	if v, err := db.Setting(t.Context(), "in the log"); v != "yes" || err != nil {
		t.Errorf("setting %q, %v; want the one in the log", v, err)
	}
}

// TestUnfinishedTransactionIsRolledBack opens a file that was left in rollback mode, in the middle of
// a transaction, as a new file is before it is in write-ahead logging mode.
func TestUnfinishedTransactionIsRolledBack(t *testing.T) {
	live, path := filepath.Join(t.TempDir(), "live.db"), filepath.Join(t.TempDir(), "x.db")
	fill(t, live)
	db, err := sql.Open("sqlite", live)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode=DELETE", "PRAGMA cache_size=1", "BEGIN",
		"DELETE FROM runs"} { // more pages than the cache has
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, suffix := range []string{"", "-journal"} {
		copyFile(t, live+suffix, path+suffix)
	}
	if st, err := os.Stat(path + "-journal"); err != nil || st.Size() == 0 {
		t.Fatalf("there is no journal: %v", err)
	}
	opened := mustOpen(t, path)
	if problem, err := opened.Integrity(t.Context()); problem != "" || err != nil {
		t.Errorf("the file has %q, %v", problem, err)
	}
	var runs int
	if err := opened.r.QueryRow("SELECT count(*) FROM runs").Scan(&runs); err != nil || runs != 200 {
		t.Errorf("%d runs, %v; want the 200 from before", runs, err)
	}
}
