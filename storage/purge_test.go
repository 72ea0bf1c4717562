package storage

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/engine/enginetest"
)

// awaitNoSecret waits until the log of a database has no secret any more.
func awaitNoSecret(t *testing.T, path string) {
	t.Helper()
	enginetest.Await(t, "the log has no secret", func() bool { return !secretInLog(path) })
}

func secretInLog(path string) bool {
	text, err := os.ReadFile(path + "-wal")
	return err != nil && !os.IsNotExist(err) || bytes.Contains(text, []byte("the-secret"))
}

// TestLogIsPurgedAfterItsReader expects that a reader that holds the log causes no error and stops
// no writer. The text leaves the log once the reader has ended.
func TestLogIsPurgedAfterItsReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, ctx := mustOpen(t, path), t.Context()
	c := mustChat(t, db, Chat{})
	mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "the-secret"})
	reading := holdLog(t, db.r)
	if _, err := db.Chats.Delete(ctx, c.ID, 0, keepRuns); err != nil {
		t.Fatal(err)
	}
	if !secretInLog(path) {
		t.Fatal("the reader does not hold the log")
	}
	mustChat(t, db, Chat{})
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	awaitNoSecret(t, path)
}

// holdLog begins a read that keeps the log from being emptied.
func holdLog(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM chats").Scan(&n); err != nil ||
		n != 1 {
		t.Fatal(n, err)
	}
	return tx
}

// TestLogIsPurgedAfterRestart expects that the next process empties a log that the last one could
// not empty, however long a reader held it.
func TestLogIsPurgedAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	c := mustChat(t, db, Chat{})
	mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "the-secret"})
	other, err := sql.Open("sqlite", db.dsn("_pragma=query_only(1)"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	reading := holdLog(t, other)
	if _, err := db.Chats.Delete(t.Context(), c.ID, 0, keepRuns); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
	if !secretInLog(path) {
		t.Fatal("the reader does not hold the log")
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	awaitNoSecret(t, path)
}

// TestCopiesAreRemovedFirst expects that no text is deleted while one of its copies, finished or
// not, cannot be removed.
func TestCopiesAreRemovedFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, ctx := mustOpen(t, path), t.Context()
	c := mustChat(t, db, Chat{})
	r, err := db.Runs.Begin(ctx, Run{Model: "m", Client: "c"})
	if err == nil {
		err = db.Runs.Finish(ctx, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	begun, stuck := path+".v8-20261121T120000Z.backup.tmp", path+".v9-20261122T120000Z.backup"
	if err := os.WriteFile(begun, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(stuck, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	forget := func() (asked bool, err error) {
		_, err = db.Forget(ctx, Scope{Client: "c"},
			func([]string) error { asked = true; return nil })
		return asked, err
	}
	_, err = db.Chats.Delete(ctx, c.ID, 0, keepRuns)
	e := wantCode(t, err, ReadOnly)
	if !strings.Contains(e.Message, filepath.Base(stuck)) {
		t.Errorf("message %q does not name the file %s", e.Message, stuck)
	}
	_, err = db.Chats.Delete(ctx, 0, 0, keepRuns)
	wantCode(t, err, ReadOnly)
	asked, err := forget()
	if wantCode(t, err, ReadOnly); asked {
		t.Error("files of checkpoints are deleted although nothing is forgotten")
	}
	if _, err := os.Stat(begun); !os.IsNotExist(err) {
		t.Error("a copy that was not finished stays:", err)
	}
	if _, err := db.Chats.Get(ctx, c.ID); err != nil {
		t.Error("the chat is gone:", err)
	}
	if err := os.RemoveAll(stuck); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Chats.Delete(ctx, c.ID, 0, keepRuns); err != nil {
		t.Error("the chat cannot be deleted:", err)
	}
	if _, err := forget(); err != nil {
		t.Error("the run cannot be forgotten:", err)
	}
	if _, err := db.Runs.Get(ctx, r.ID); err == nil {
		t.Error("a forgotten run is there")
	}
}

// TestUnfinishedCopiesAreRemovedAtAStart leaves what an older program was killed over.
func TestUnfinishedCopiesAreRemovedAtAStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	of := path + ".v8-20261121T120000Z.backup"
	for _, name := range []string{of, of + ".tmp", of + ".tmp-journal"} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustOpen(t, path)
	for name, want := range map[string]bool{of: true, of + ".tmp": false, of + ".tmp-journal": false} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s after a start: %v", filepath.Base(name), err)
		}
	}
}
