package storage

import (
	"reflect"
	"testing"
	"time"
)

func TestModelSettingsGoWithTheirModel(t *testing.T) {
	db := mustOpen(t, "")
	_, err := db.Models.Settings(t.Context(), "m")
	wantCode(t, err, NotFound)
	// no such model
	wantCode(t, db.Models.SetSettings(t.Context(), ModelSettings{Model: "m"}), Invalid)
	if _, err := db.Models.Register(t.Context(),
		Model{ID: "m", Path: "/m", Source: SourceFolder}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []ModelSettings{
		{Model: "m", Context: new(1), Depth: new(2), Rule: "rejection", Temperature: new(0.25),
			TopP: new(0.5), TopK: new(3), MinP: new(0.125), RepetitionPenalty: new(1.5),
			KeepLoaded: true},
		{Model: "m", Depth: new(0), Temperature: new(0.0)}, // zero is a value, nil is none
		{Model: "m"},
	} {
		if err := db.Models.SetSettings(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Models.Settings(t.Context(), "m"); err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("set %+v, read %+v, %v", want, got, err)
		}
	}
	if err := db.Models.Remove(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Models.Settings(t.Context(), "m")
	wantCode(t, err, NotFound)
}

func TestDownloadsRoundTrip(t *testing.T) {
	db := mustOpen(t, "")
	first := Download{ID: "b/b", Revision: "r", Paused: true, Error: "why", Done: 1, Total: 2,
		Cache: "/c", Blobs: []string{"x", "y"}, StartedAt: noon}
	second := Download{ID: "a/a", Dropped: true, Blobs: []string{},
		StartedAt: noon.Add(time.Second)}
	for _, d := range []Download{second, {ID: "b/b"}, first} {
		if err := db.Models.SetDownload(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := db.Models.Downloads(t.Context()); err != nil ||
		!reflect.DeepEqual(got, []Download{first, second}) {
		t.Errorf("downloads %+v, %v; want the older one first", got, err)
	}
	for range 2 {
		if err := db.Models.RemoveDownload(t.Context(), "b/b"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := db.Models.Downloads(t.Context()); err != nil || len(got) != 1 || got[0].ID != "a/a" {
		t.Errorf("downloads %+v, %v; want a/a alone", got, err)
	}
}
