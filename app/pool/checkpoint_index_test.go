package pool

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/engine/checkpoint"
	"tandem/storage"
)

// A field of an entry that its row lacks fails the test. So do two fields in each other's place.
func TestCheckpointEntryKeepsEveryFieldInItsRow(t *testing.T) {
	var want checkpoint.Entry
	v := reflect.ValueOf(&want).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(1000 + i))
		case reflect.Struct:
			f.Set(reflect.ValueOf(time.UnixMilli(int64(i))))
		default:
			t.Fatalf("no value for %s", v.Type().Field(i).Name)
		}
	}
	row := checkpointIndex{model: "org/model"}.row(want)
	if got := entryOf(row); got != want || row.Model != "org/model" {
		t.Errorf("the row of %+v is %+v, and its entry %+v", want, row, got)
	}
}

// After an update that computes differently, a file takes the place of the older one with its text:
// its name, its pin and what goes on from it. Other files of before are deleted first, however much
// they are worth, except pinned ones.
func TestCheckpointReplacesThatOfOtherArithmetic(t *testing.T) {
	ctx := t.Context()
	db, err := storage.Open("", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	x := checkpointIndex{db, "org/model"}
	own := checkpoint.NewKey("k", arithmetic())
	for _, e := range []checkpoint.Entry{
		{ID: "other", Key: checkpoint.NewKey("other", arithmetic()), To: 60, Digest: "a"},
		{ID: "base", Key: "k", To: 40, Digest: "base"},
		{ID: "old", Key: checkpoint.NewKey("k", "MLX 1"), Parent: "base", From: 40, To: 60, Digest: "a"},
		{ID: "after", Key: "k", Parent: "old", From: 60, To: 80, Digest: "after"},
		{ID: "pin", Key: "k", Parent: "base", From: 40, To: 50, Digest: "pin"},
		{ID: "longer", Key: "k", To: 70, Digest: "a"},
	} {
		if _, err := x.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"old", "pin"} {
		if err := db.Checkpoints.SetPinned(ctx, id, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Checkpoints.SetName(ctx, "old", "parser"); err != nil {
		t.Fatal(err)
	}
	run, err := db.Runs.Begin(ctx, storage.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Runs.SetText(ctx, storage.RunText{Run: run.ID, File: "old", Tokens: 60}); err != nil {
		t.Fatal(err)
	}
	for range 9 {
		if err := x.Use(checkpoint.Use{IDs: []string{"base", "after", "longer"}}); err != nil {
			t.Fatal(err)
		}
	}
	replaced, err := x.Add(checkpoint.Entry{ID: "new", Key: own, To: 60, Digest: "a"})
	if err != nil || !slices.Equal(replaced, []string{"old"}) {
		t.Errorf("%v were replaced: %v", replaced, err)
	}
	if c, err := db.Checkpoints.Get(ctx, "parser"); err != nil || c.ID != "new" || !c.Pinned {
		t.Errorf("parser is %+v: %v", c, err)
	}
	if c, err := db.Checkpoints.Get(ctx, "after"); err != nil || c.Parent != "new" {
		t.Errorf("what goes on from it is %+v: %v", c, err)
	}
	if text, err := db.Runs.Text(ctx, run.ID); err != nil || text.File != "new" {
		t.Errorf("a run's text begins in %q: %v", text.File, err)
	}
	if _, err := db.Checkpoints.Get(ctx, "old"); !storage.IsNotFound(err) {
		t.Errorf("the old one is still there: %v", err)
	}
	list, stay, err := x.ByWorth()
	ids := func(list []checkpoint.Entry) string {
		var ids []string
		for _, e := range list {
			ids = append(ids, e.ID)
		}
		return strings.Join(ids, " ")
	}
	if err != nil || ids(list) != "after longer base other" {
		t.Errorf("the order of deletion is %s: %v", ids(list), err)
	}
	if ids(stay) != "pin new" {
		t.Errorf("%s stay", ids(stay))
	}

	// A name that the new one cannot get stays where it is.
	if _, err := x.Add(checkpoint.Entry{ID: "second", Key: "k", To: 60, Digest: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoints.SetName(ctx, "second", "lexer"); err != nil {
		t.Fatal(err)
	}
	replaced, err = x.Add(checkpoint.Entry{ID: "new", Key: own, To: 60, Digest: "a"})
	if c, lexerErr := db.Checkpoints.Get(ctx, "lexer"); err != nil || len(replaced) > 0 ||
		lexerErr != nil || c.ID != "second" {
		t.Errorf("%v were replaced, lexer is %+v: %v, %v", replaced, c, err, lexerErr)
	}
}
