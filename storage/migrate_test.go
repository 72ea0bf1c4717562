package storage

import (
	"compress/gzip"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// version31 writes the database that testdata/version31.go made to a file, and returns its path.
func version31(t *testing.T) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "version31.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "version31.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// atVersion makes a file that says that it has a version of the schema.
func atVersion(t *testing.T, path string, version int64) {
	t.Helper()
	db := mustOpen(t, path)
	_, err := db.w.Exec("DELETE FROM goose_db_version WHERE version_id <> 0")
	if err == nil && version != 0 {
		_, err = db.w.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)",
			version)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// schema returns the statement of every table and index by name, without comments and spaces.
func schema(t *testing.T, db *DB) map[string]string {
	t.Helper()
	rows, err := db.r.Query("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	comment := regexp.MustCompile(`--[^\n]*`)
	punctuation := regexp.MustCompile(` ?([(),]) ?`)
	all := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		text = strings.Join(strings.Fields(comment.ReplaceAllString(text, "")), " ")
		all[name] = punctuation.ReplaceAllString(text, "$1")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOldestDatabaseHasTheSchema compares the schema of a new database with the one that the
// program of commit 7afd6426 left.
func TestOldestDatabaseHasTheSchema(t *testing.T) {
	got := schema(t, mustOpen(t, filepath.Join(t.TempDir(), "new.db")))
	want := schema(t, mustOpen(t, version31(t)))
	if len(want) != 40 {
		t.Errorf("the old database has %d tables and indexes, want 38, and those of goose and SQLite", len(want))
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("a new database has\n%s\nwant\n%s", got[name], text)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("a new database has %s, the old one does not", name)
	}
}

// TestSchemaHasTheNumberOfTheLastFile expects that Open accepts what a new database gets.
func TestSchemaHasTheNumberOfTheLastFile(t *testing.T) {
	db := mustOpen(t, "")
	got, err := version(t.Context(), db.r)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := db.newestSchema(); err != nil || got != want {
		t.Errorf("a new database has version %d; want %d, %v", got, want, err)
	}
}

// withNextFile returns a DB, not yet open, of a program that has one more file in migrations/.
func withNextFile(t *testing.T, path string) *DB {
	t.Helper()
	all := fstest.MapFS{
		"migrations/00034_notes.sql": {Data: []byte("-- +goose Up\nCREATE TABLE notes (a TEXT);\n")},
	}
	for _, name := range []string{"migrations/00031_schema.sql", "migrations/00032_runs.sql", "migrations/00033_held.sql"} {
		text, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: text}
	}
	db := newDB(Options{})
	db.path, db.migrations = path, all
	t.Cleanup(func() { db.Close() })
	return db
}

// TestNextFileIsApplied expects that a program with one more file brings a database at 31 up to
// date, and that a program without that file then refuses it, and opens the copy.
func TestNextFileIsApplied(t *testing.T) {
	path, ctx := version31(t), t.Context()
	db := withNextFile(t, path)
	if err := db.open(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := version(ctx, db.r); err != nil || got != 34 {
		t.Errorf("the version is %d, %v; want 34", got, err)
	}
	if _, err := db.w.Exec("INSERT INTO notes VALUES ('new')"); err != nil {
		t.Error(err)
	}
	if m, err := db.Models.Get(ctx, "org/name"); err != nil || m.Path != "/models/name" {
		t.Errorf("the model is %+v, %v", m, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, Options{})
	wantCode(t, err, Newer)

	if info, err := os.Stat(path + ".v31.backup"); err != nil || info.Mode() != 0o600 {
		t.Errorf("the copy is %v, %v", info, err)
	}
	before := filepath.Join(t.TempDir(), "tandem.db")
	if err := os.Rename(path+".v31.backup", before); err != nil {
		t.Fatal(err)
	}
	old, err := Open(before, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if m, err := old.Models.Get(ctx, "org/name"); err != nil || m.Path != "/models/name" {
		t.Errorf("the model of the copy is %+v, %v", m, err)
	}
}

// TestReadOnlyAsksForTheNextStart expects that a database which the next start migrates is not read
// before.
func TestReadOnlyAsksForTheNextStart(t *testing.T) {
	path := version31(t)
	before := files(t, path)
	e := wantCode(t, withNextFile(t, path).openReadOnly("read"), Older)
	if want := "schema 31, this one reads 34): the next start brings it up to date"; !strings.Contains(
		e.Message, want) {
		t.Errorf("message %q lacks %q", e.Message, want)
	}
	if files(t, path) != before {
		t.Error("the file was changed, or another one was made")
	}
	if err := withNextFile(t, path).open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := withNextFile(t, path).openReadOnly("read"); err != nil {
		t.Errorf("after a start: %v", err)
	}
}

// TestOldestDatabaseKeepsItsRows expects what testdata/version31.go stored.
func TestOldestDatabaseKeepsItsRows(t *testing.T) {
	db, ctx := mustOpen(t, version31(t)), t.Context()

	m, err := db.Models.Get(ctx, "org/name")
	if err != nil || m.Path != "/models/name" || m.LoadMS != 1234 {
		t.Errorf("the model is %+v, %v", m, err)
	}
	settings, err := db.Settings(ctx)
	if err != nil || settings["model"] != `"org/name"` || settings["hub_cache"] != `"/cache"` {
		t.Errorf("the settings are %v, %v", settings, err)
	}
	own, err := db.Models.Settings(ctx, "org/name")
	if err != nil || own.Temperature == nil || *own.Temperature != 0.7 || !own.KeepLoaded {
		t.Errorf("the model's settings are %+v, %v", own, err)
	}
	if choice, err := db.Models.Drafter(ctx, "org/name"); err != nil || choice != "auto" {
		t.Errorf("the drafter is %q, %v", choice, err)
	}
	if r, err := db.Models.Reading(ctx, "org/name", "/models/drafter"); err != nil ||
		string(r.Settings) != `{"window":8}` || string(r.Trials) != "[3]" {
		t.Errorf("the drafter's reading is %+v, %v", r, err)
	}
	if p, err := db.Models.Policy(ctx, "org/name", "ngram", 1024); err != nil ||
		string(p.State) != `{"depth":4}` {
		t.Errorf("the policy is %s, %v", p.State, err)
	}
	keys, err := db.Keys(ctx)
	if err != nil || len(keys) != 1 || keys[0].Name != "editor" {
		t.Errorf("the keys are %+v, %v", keys, err)
	}

	run, err := db.Runs.Get(ctx, 1)
	if err != nil || run.CompletionTokens != 42 || run.TotalMS != 321.5 || run.Seed != 16 {
		t.Errorf("the run is %+v, %v", run, err)
	}
	if run.EndedAt.IsZero() || run.FinishReason != "stop" {
		t.Errorf("the run ended at %v by %q, want as it was", run.EndedAt, run.FinishReason)
	}
	text, err := db.Runs.Text(ctx, 1)
	if err != nil || text.File != "c1" || string(text.Tail) != "\x07\x00\x00\x00" {
		t.Errorf("the run's text is %+v, %v", text, err)
	}
	c, err := db.Checkpoints.Get(ctx, "the manual")
	if err != nil || c.ID != "c1" || !c.Pinned || c.ToToken != 40 {
		t.Errorf("the checkpoint is %+v, %v", c, err)
	}

	chats, _, err := db.Chats.List(ctx, ChatQuery{Search: "scatters"})
	if err != nil || len(chats) != 1 || !chats[0].Pinned || chats[0].Title != "Why is the sky blue?" {
		t.Fatalf("the chats are %+v, %v", chats, err)
	}
	messages, err := db.Chats.Messages(ctx, chats[0].ID)
	if err != nil || len(messages) != 2 || messages[1].Content != "Air scatters blue light most." {
		t.Errorf("the messages are %+v, %v", messages, err)
	}

	r, err := db.Responses.Get(ctx, "editor", "resp_1")
	if err != nil || string(r.Output) != `[{"type":"message"}]` {
		t.Errorf("the response is %+v, %v", r, err)
	}
	thoughts, err := db.Responses.Thoughts(ctx, keys[0].ID, "org/name", []string{"h"})
	if err != nil || len(thoughts) != 1 {
		t.Errorf("the thoughts are %+v, %v", thoughts, err)
	}
	benches, err := db.Benches(ctx)
	if err != nil || len(benches) != 1 || string(benches[0].Result) != `{"decode":60}` {
		t.Errorf("the benches are %+v, %v", benches, err)
	}
	downloads, err := db.Models.Downloads(ctx)
	if err != nil || len(downloads) != 1 || downloads[0].ID != "org/other" || !downloads[0].Paused {
		t.Errorf("the downloads are %+v, %v", downloads, err)
	}
	if f, err := db.Models.DrafterFile(ctx, "org/drafter"); err != nil || f.Revision != "def" {
		t.Errorf("the drafter's file is %+v, %v", f, err)
	}

	// And it goes on: new rows follow the old ones.
	next, err := db.Runs.Begin(ctx, Run{Model: "org/name", StartedAt: time.Now()})
	if err != nil || next.ID != 2 {
		t.Errorf("the next run is %d, %v; want 2", next.ID, err)
	}
}

// TestOtherSchemaIsRefusedAndLeftAlone expects that the database of another program stays as it is,
// byte for byte, whether or not that program closed it.
func TestOtherSchemaIsRefusedAndLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		code   Code
		says   []string
	}{
		"older": {"DELETE FROM goose_db_version WHERE version_id > 30", Older,
			[]string{"older Tandem (schema 30, this one needs 31 or later)", "move it aside"}},
		"oldest": {"DELETE FROM goose_db_version WHERE version_id > 1", Older,
			[]string{"older Tandem (schema 1, this one needs 31 or later)", "move it aside"}},
		"newer": {"INSERT INTO goose_db_version (version_id, is_applied) VALUES (34, 1)", Newer,
			[]string{"newer Tandem (schema 34, this one knows 33)", "update Tandem"}},
	} {
		for _, end := range []string{"closed", "crashed"} {
			t.Run(name+" and "+end, func(t *testing.T) {
				path := version31(t)
				live, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				defer live.Close()
				if _, err := live.Exec(c.change); err != nil {
					t.Fatal(err)
				}
				if end == "crashed" { // a copy of what the open one has, its log too
					copied := filepath.Join(t.TempDir(), "copy.db")
					for _, suffix := range []string{"", "-wal"} {
						copyFile(t, path+suffix, copied+suffix)
					}
					path = copied
				} else if err := live.Close(); err != nil {
					t.Fatal(err)
				}
				before := files(t, path)
				_, err = Open(path, Options{})
				e := wantCode(t, err, c.code)
				for _, word := range append(c.says, path) {
					if !strings.Contains(e.Message, word) {
						t.Errorf("message %q lacks %q", e.Message, word)
					}
				}
				if files(t, path) != before {
					t.Error("the file was changed, or another one was made")
				}
			})
		}
	}
}
