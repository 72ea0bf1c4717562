package app

import (
	"errors"
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
		m, err := r.AddModel(t.Context(), control.AddRequest{Path: path})
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
	st, err := r.Storage(t.Context())
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
		said, err := r.Removal(t.Context(), id)
		if err != nil || said != want {
			t.Errorf("said %+v, %v; want %+v", said, err, want)
		}
		if done, err := r.RemoveModel(t.Context(), id); err != nil || done != want {
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
		_, err := r.Removal(t.Context(), id)
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != code {
			t.Errorf("%s: %v", id, err)
		}
	}
}
