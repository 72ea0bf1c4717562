package library

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"tandem/app/control"
	"tandem/models/hub"
	"tandem/storage"
)

// A removal frees the bytes that it announced. Files that other programs downloaded stay.
func TestRemovalFreesTheBytesThatItNamed(t *testing.T) {
	cache := t.TempDir()
	ours, theirs := cachedModel(t, cache, "org/ours", "llama"),
		cachedModel(t, cache, "org/theirs", "llama")
	r := open(t, setup{Hub: hub.Options{CacheDir: cache}})
	for path, mine := range map[string]bool{ours: true, theirs: false} {
		m, err := r.library.AddModel(t.Context(), control.AddRequest{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		row := storage.Model(m)
		row.Source, row.DownloadedByUs = storage.SourceHub, mine
		if _, err := r.db.Models.Register(t.Context(), row); err != nil {
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
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Models) != 2 {
		t.Errorf("len(st.Models) = %v, want 2", len(st.Models))
	}
	if st.Home == "" {
		t.Error("st.Home is empty")
	}
	if st.Free == 0 {
		t.Error("st.Free is 0")
	}
	if st.HistoryBytes == 0 {
		t.Error("st.HistoryBytes is 0")
	}
	for _, m := range st.Models {
		if m.Ours != (m.ID == "org/ours") || m.Ours && m.Bytes != size || m.Bytes == 0 {
			t.Errorf("%+v, the files have %d bytes", m, size)
		}
	}
	m, err := r.pool.Acquire(t.Context(), "org/ours")
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	for id, want := range map[string]control.Removal{
		"org/ours":   {ID: "org/ours", Deletes: true, Bytes: size, InMemory: true},
		"org/theirs": {ID: "org/theirs"},
	} {
		said, err := r.library.Removal(t.Context(), id)
		if err != nil || said != want {
			t.Errorf("announced %+v, %v; want %+v", said, err, want)
		}
		if done, err := r.library.RemoveModel(t.Context(), id); err != nil || done != want {
			t.Errorf("removed %+v, %v; want %+v", done, err, want)
		}
	}
	if _, err := os.Stat(ours); !os.IsNotExist(err) {
		t.Error("the deleted file is still there:", err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	for id, code := range map[string]control.Code{"org/ours": control.CodeModelNotFound,
		"pocket": control.CodeInvalid} {
		_, err := r.library.Removal(t.Context(), id)
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != code {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A removal continues if its client leaves. Otherwise the row of a model without files would stay.
func TestRemovalGoesOnIfItsClientLeaves(t *testing.T) {
	cache := t.TempDir()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	a := open(t, setup{Hub: hub.Options{CacheDir: cache},
		Logger: slog.New(onMessage{"model deleted", leave})})
	m, err := a.library.AddModel(t.Context(),
		control.AddRequest{Path: cachedModel(t, cache, "org/ours", "llama")})
	if err != nil {
		t.Fatal(err)
	}
	row := storage.Model(m)
	row.Source, row.DownloadedByUs = storage.SourceHub, true
	if _, err := a.db.Models.Register(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if _, err := a.library.RemoveModel(ctx, m.ID); err != nil || ctx.Err() == nil {
		t.Errorf("the removal ended with %v, its client with %v", err, ctx.Err())
	}
	if _, err := a.db.Models.Get(t.Context(), m.ID); !storage.IsNotFound(err) {
		t.Errorf("reading the removed row gives %v", err)
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
