package storage

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/engine/enginetest"
)

// holdElsewhere lets another process hold a database until release is called, and returns the pid.
func holdElsewhere(t *testing.T, path, test string) (pid int, release func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), "TANDEM_TEST_HOLD="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { in.Close(); cmd.Wait() })
	t.Cleanup(release)
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q", line)
	}
	return cmd.Process.Pid, release
}

// holds holds the database that the environment names, in the other process, and reports whether
// this is that process.
func holds(t *testing.T) bool {
	path := os.Getenv("TANDEM_TEST_HOLD")
	if path == "" {
		return false
	}
	db, err := sql.Open("sqlite", path)
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.Exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
	return true
}

func TestHeldDatabaseCostsOneWait(t *testing.T) {
	if holds(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "tandem.db")
	db := mustOpen(t, path)
	pid, release := holdElsewhere(t, path, "TestHeldDatabaseCostsOneWait")
	start := time.Now()
	var writers sync.WaitGroup
	for range 8 { // as many answers at once
		writers.Go(func() {
			_, err := db.Runs.Begin(t.Context(), Run{Client: "a"})
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Errorf("err = %v", err)
				return
			}
			if e.Code != Busy {
				t.Errorf("e.Code = %v, want %v", e.Code, Busy)
			}
			if e.Op != "begin run" {
				t.Errorf(`e.Op = %q, want "begin run"`, e.Op)
			}
			if !strings.Contains(e.Message, fmt.Sprintf("(pid %d)", pid)) {
				t.Errorf("e.Message = %q, want it to have %q",
					e.Message, fmt.Sprintf("(pid %d)", pid))
			}
			if !strings.Contains(e.Message, filepath.Base(os.Args[0])[:7]) {
				t.Errorf("e.Message = %q, want it to have %q",
					e.Message, filepath.Base(os.Args[0])[:7])
			}
		})
	}
	writers.Wait()
	const wait = busyTimeout * time.Millisecond
	if d := time.Since(start); d > wait+2*time.Second {
		t.Errorf("eight writes took %v, want one wait of %v", d, wait)
	}
	start = time.Now()
	for what, write := range map[string]func() error{
		"a setting": func() error { return db.SetSetting(t.Context(), "a", "b") },
		"a key":     func() error { _, err := db.AddKey(t.Context(), "a", "b"); return err },
		"a run":     func() error { return db.Runs.Finish(t.Context(), Run{ID: 1}) },
	} {
		e, ok := errors.AsType[*Error](write())
		if code, _ := e.ClientMessage(); !ok || e.Code != Busy || code != "database_busy" {
			t.Errorf("%s gives %v", what, e)
		}
	}
	if d := time.Since(start); d > wait/2 {
		t.Errorf("later writes took %v", d)
	}
	if _, _, err := db.Runs.List(t.Context(), RunQuery{Limit: 1}); err != nil {
		t.Errorf("reading gives %v", err)
	}
	release()
	enginetest.Await(t, "a run begins in the free database", func() bool {
		_, err := db.Runs.Begin(t.Context(), Run{Client: "b"})
		return err == nil
	})
}

func TestHeldDatabaseIsToldAtTheStart(t *testing.T) {
	if holds(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "tandem.db")
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	pid, _ := holdElsewhere(t, path, "TestHeldDatabaseIsToldAtTheStart")
	start := time.Now()
	_, err := Open(path, Options{})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != Busy || !strings.Contains(e.Message, fmt.Sprint(pid)) {
		t.Errorf("a start gives %v, want the holder, pid %d", err, pid)
	}
	if d := time.Since(start); d > 2*busyTimeout*time.Millisecond {
		t.Errorf("it took %v", d)
	}
}

// A database that is held does not hold up the end of its process.
func TestHeldDatabaseIsClosedAtOnce(t *testing.T) {
	if holds(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "tandem.db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	holdElsewhere(t, path, "TestHeldDatabaseIsClosedAtOnce")
	if err := db.SetSetting(context.Background(), "a", "b"); err == nil {
		t.Error("a held database was written")
	}
	start := time.Now()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("closing took %v", d)
	}
}

// On a full disk a database opens, however the last process ended. It reads, refuses what needs room
// with a reason, and writes as soon as there is some, without another Open.
func TestFullDiskOpens(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, path string){
		"closed": func(t *testing.T, path string) { fill(t, path) },
		"killed with rows in the log": func(t *testing.T, path string) {
			fill(t, path)
			crash(t, path)
		},
		"killed with a run in flight": func(t *testing.T, path string) {
			fill(t, path)
			crashAfter(t, path, func(db *DB) error {
				_, err := db.Runs.Begin(t.Context(), Run{})
				return err
			})
		},
		"open": nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := enginetest.SmallDisk(t, 32<<20)
			path := filepath.Join(dir, "tandem.db")
			var db *DB
			free := func() {}
			if leave == nil {
				fill(t, path)
				db = mustOpen(t, path)
			} else {
				leave(t, path)
				free = enginetest.FillDisk(t, dir)
				db = mustOpen(t, path)
			}
			freeMore := enginetest.FillDisk(t, dir) // Open may have emptied the log
			var err error
			for range 100 {
				if _, err = db.Runs.Begin(t.Context(), Run{Client: strings.Repeat("x", 5000)}); err != nil {
					break
				}
			}
			for _, err := range []error{err, db.SetSetting(t.Context(), "a", strings.Repeat("x", 9000))} {
				e := wantCode(t, err, Full)
				if code, message := e.ClientMessage(); code != "disk_full" ||
					!strings.Contains(message, "free some space") {
					t.Errorf("it is told as %q, %q", code, message)
				}
			}
			runs, _, err := db.Runs.List(t.Context(), RunQuery{Limit: 3})
			if err != nil || len(runs) == 0 {
				t.Errorf("%d runs are read, %v", len(runs), err)
			}
			free()
			freeMore()
			if err := db.SetSetting(t.Context(), "a", "b"); err != nil {
				t.Errorf("with room again: %v", err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = mustOpen(t, path)
			if v, err := db.Setting(t.Context(), "a"); v != "b" || err != nil {
				t.Errorf("after the next start the setting is %q, %v", v, err)
			}
			if runs, _, err := db.Runs.List(t.Context(), RunQuery{Finish: FinishRunning}); len(runs) > 0 || err != nil {
				t.Errorf("after the next start %d runs are in flight, %v", len(runs), err)
			}
		})
	}
}

// A disk without inodes is a full one. SQLite needs a file beside the database even to read it.
func TestDiskWithoutInodes(t *testing.T) {
	dir := enginetest.SmallDisk(t, 32<<20)
	path := filepath.Join(dir, "tandem.db")
	fill(t, path)
	enginetest.FillNames(t, dir)
	for _, path := range []string{path, filepath.Join(dir, "new.db")} {
		_, err := Open(path, Options{})
		if e := wantCode(t, err, Full); !strings.Contains(e.Message, "free some space") {
			t.Errorf("%s is refused with %v", path, err)
		}
	}
}

// A file that is refused on a full disk stays as it was left, with its log.
func TestFullDiskLeavesRefusedFilesAlone(t *testing.T) {
	for code, spoil := range map[Code]func(t *testing.T, path string){
		Corrupt: func(t *testing.T, path string) {
			crash(t, path)
			overwrite(t, path, 20*4096, 8*4096)
		},
		Newer: func(t *testing.T, path string) {
			crashAfter(t, path, func(db *DB) error {
				_, err := db.w.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
				return err
			})
		},
	} {
		t.Run(string(code), func(t *testing.T) {
			dir := enginetest.SmallDisk(t, 32<<20)
			path := filepath.Join(dir, "tandem.db")
			fill(t, path)
			spoil(t, path)
			enginetest.FillDisk(t, dir)
			before := files(t, path)
			_, err := Open(path, Options{})
			wantCode(t, err, code)
			if files(t, path) != before {
				t.Error("the file was changed")
			}
		})
	}
}

// Where the disk has no room for the tables of a new file, Open says so.
func TestFullDiskMakesNoDatabase(t *testing.T) {
	dir := enginetest.SmallDisk(t, 1<<20)
	enginetest.FillDisk(t, dir)
	_, err := Open(filepath.Join(dir, "tandem.db"), Options{})
	wantCode(t, err, Full)
}
