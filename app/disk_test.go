package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"tandem/app/control"
	"tandem/models/hub"
	"tandem/storage"
)

// TestRemovalTellsBytes: what removing says it frees is what it frees; what others
// downloaded stays, and so do files that another snapshot has.
func TestRemovalTellsBytes(t *testing.T) {
	cache := t.TempDir()
	ours, theirs := cachedModel(t, cache, "org/ours", "llama"), cachedModel(t, cache, "org/theirs", "llama")
	r := start(t, Options{Hub: hub.Options{CacheDir: cache}}, "127.0.0.1:0")
	for path, mine := range map[string]bool{ours: true, theirs: false} {
		m, err := r.library.AddModel(t.Context(), control.AddRequest{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		row := storage.Model(m)
		row.Source, row.DownloadedByUs = storage.SourceHub, mine
		if _, err := r.db.RegisterModel(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	var size int64
	files, err := filepath.Glob(filepath.Join(ours, "*"))
	for _, name := range files {
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	if err != nil || size == 0 {
		t.Fatal(size, err)
	}
	st, err := r.library.Storage(t.Context())
	if err != nil || len(st.Models) != 2 || st.Home == "" || st.Free == 0 || st.HistoryBytes == 0 {
		t.Errorf("%+v, %v", st, err)
	}
	for _, m := range st.Models {
		if m.Ours != (m.ID == "org/ours") || m.Ours && m.Bytes != size || m.Bytes == 0 {
			t.Errorf("%+v, the files have %d bytes", m, size)
		}
	}
	if status, body := r.complete(t, "org/ours", "abc"); status != http.StatusOK {
		t.Fatal(status, body)
	}
	for id, want := range map[string]control.Removal{
		"org/ours":   {ID: "org/ours", Deletes: true, Bytes: size, InMemory: true},
		"org/theirs": {ID: "org/theirs"},
	} {
		said, err := r.library.Removal(t.Context(), id)
		if err != nil || said != want {
			t.Errorf("said %+v, %v; want %+v", said, err, want)
		}
		if done, err := r.library.RemoveModel(t.Context(), id); err != nil || done != want {
			t.Errorf("done %+v, %v; want %+v", done, err, want)
		}
	}
	if _, err := os.Stat(ours); !os.IsNotExist(err) {
		t.Error("what was deleted is there:", err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	for id, code := range map[string]control.Code{"org/ours": control.CodeModelNotFound, "pocket": control.CodeInvalid} {
		_, err := r.library.Removal(t.Context(), id)
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != code {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestRemovalOfWhoLeft: a removal that has begun is ended although nobody waits for
// it, so that no row is left whose files are gone.
func TestRemovalOfWhoLeft(t *testing.T) {
	cache := t.TempDir()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Hub: hub.Options{CacheDir: cache}, Logger: slog.New(onMessage{"model deleted", leave})})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: cachedModel(t, cache, "org/ours", "llama")})
	if err != nil {
		t.Fatal(err)
	}
	row := storage.Model(m)
	row.Source, row.DownloadedByUs = storage.SourceHub, true
	if _, err := a.db.RegisterModel(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if _, err := a.library.RemoveModel(ctx, m.ID); err != nil || ctx.Err() == nil {
		t.Errorf("removed with %v, left with %v", err, ctx.Err())
	}
	if _, err := a.db.Model(t.Context(), m.ID); !storage.IsNotFound(err) {
		t.Errorf("its row: %v", err)
	}
}

// onMessage is a log that does something when a message comes.
type onMessage struct {
	message string
	do      func()
}

func (h onMessage) Enabled(context.Context, slog.Level) bool { return true }
func (h onMessage) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h onMessage) WithGroup(string) slog.Handler            { return h }
func (h onMessage) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.do()
	}
	return nil
}
