package storage

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDeleteChatsWhileRead: a reader that holds the log is no reason for an error, and keeps no writer waiting; when it has
// gone the text goes.
func TestDeleteChatsWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, ctx := mustOpen(t, path), t.Context()
	c := mustChat(t, db, Chat{})
	mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "the-secret"})
	tx, err := db.r.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM chats").Scan(&n); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	inLog := func() bool {
		text, err := os.ReadFile(path + "-wal")
		return err != nil || bytes.Contains(text, []byte("the-secret"))
	}
	if err := db.DeleteChat(ctx, c.ID); err != nil {
		t.Fatal(err)
	}
	if !inLog() {
		t.Fatal("the reader does not hold the log")
	}
	mustChat(t, db, Chat{})
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for inLog() {
		if ctx.Err() != nil {
			t.Fatal("it still stands in the log")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
