package library

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models/hub"
	"tandem/storage"
)

// half is the content of a partial blob, and halfBlob the blob's name.
const half = "half of it"

var halfBlob = fmt.Sprintf("%x", sha256.Sum256([]byte(half)))

// begun writes a partial file of a download into a cache, and returns its path.
func begun(t *testing.T, cache string) string {
	t.Helper()
	file := filepath.Join(cache, "models--org--name", "blobs", halfBlob+".incomplete")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, []byte(half), 0o644)); err != nil {
		t.Fatal(err)
	}
	return file
}

// openWith opens a home folder whose database has a paused download.
func openWith(t *testing.T, home string, o hub.Options, row storage.Download) *opened {
	t.Helper()
	a := open(t, setup{Home: home, Hub: o})
	row.ID, row.Paused = "org/name", true
	if err := errors.Join(a.db.Models.SetDownload(t.Context(), row), a.Close()); err != nil {
		t.Fatal(err)
	}
	return open(t, setup{Home: home, Hub: o})
}

// awaitDownload waits until the only download is as wanted.
func awaitDownload(t *testing.T, a *opened, want func(control.Download) bool) control.Download {
	t.Helper()
	var list []control.Download
	enginetest.Await(t, "one download, as wanted", func() bool {
		list = a.library.Downloads()
		return len(list) == 1 && want(list[0])
	})
	return list[0]
}

// A discard deletes from the cache in which the download began, not from the cache that is set now.
func TestDiscardDeletesWhereTheDownloadBegan(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	first, second := begun(t, one), begun(t, two)
	a := openWith(t, t.TempDir(), hub.Options{CacheDir: two},
		storage.Download{Cache: one, Blobs: []string{halfBlob}})
	if err := a.library.DropDownload(t.Context(),
		control.DropRequest{ID: "org/name", Discard: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Error("its partial file is still there:", err)
	}
	if _, err := os.Stat(second); err != nil {
		t.Error("the file in the other cache is gone:", err)
	}
	if list := a.library.Downloads(); len(list) > 0 {
		t.Errorf("the state has %+v", list)
	}
}

// A cancelled download leaves its files and the list. It may begin again, in this process or the
// next. A discard then deletes these files too.
func TestDiscardDeletesWhatACancelledDownloadLeft(t *testing.T) {
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	for _, restarted := range []bool{false, true} {
		cache, home := t.TempDir(), t.TempDir()
		file, o := begun(t, cache), hub.Options{CacheDir: cache, Endpoint: none.URL}
		a := openWith(t, home, o, storage.Download{Cache: cache, Blobs: []string{halfBlob}, Done: 5,
			Total: 10})
		if err := a.library.DropDownload(t.Context(),
			control.DropRequest{ID: "org/name"}); err != nil {
			t.Fatal(err)
		}
		if restarted {
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			a = open(t, setup{Home: home, Hub: o})
		}
		if list := a.library.Downloads(); len(list) > 0 {
			t.Errorf("restarted %v: the state has %+v", restarted, list)
		}
		for _, discard := range []bool{false, true} {
			err := a.library.DropDownload(t.Context(),
				control.DropRequest{ID: "org/name", Discard: discard})
			if e, ok := errors.AsType[*control.Error](err); !ok ||
				e.Code != control.CodeModelNotFound {
				t.Errorf("restarted %v: cancelled again: %v", restarted, err)
			}
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("restarted %v: the file that must stay: %v", restarted, err)
		}
		if err := a.library.Download(t.Context(), control.PullRequest{ID: "org/name"}); err != nil {
			t.Fatal(err)
		}
		awaitDownload(t, a, func(d control.Download) bool { return d.Error != "" })
		if err := a.library.DropDownload(t.Context(),
			control.DropRequest{ID: "org/name", Discard: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("restarted %v: its first partial file is still there: %v", restarted, err)
		}
		if list, err := a.db.Models.Downloads(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("restarted %v: the database has %+v, %v", restarted, list, err)
		}
	}
}

// A download continues in the cache where it began, even if another cache is set. A download
// without files, or whose folder is gone, begins again.
func TestDownloadGoesOnInTheCacheWhereItBegan(t *testing.T) {
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	for name, c := range map[string]struct {
		began, gone bool
	}{
		"goes on":           {true, false},
		"began nothing":     {false, false},
		"the folder is off": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := t.TempDir(), t.TempDir()
			first, second := begun(t, one), begun(t, two)
			row := storage.Download{Cache: one, Done: 5, Total: 10}
			if c.began {
				row.Blobs = []string{halfBlob}
			}
			if c.gone {
				if err := os.RemoveAll(one); err != nil {
					t.Fatal(err)
				}
			}
			a := openWith(t, t.TempDir(), hub.Options{CacheDir: two, Endpoint: none.URL}, row)
			if err := a.library.Download(t.Context(),
				control.PullRequest{ID: "org/name"}); err != nil {
				t.Fatal(err)
			}
			d := awaitDownload(t, a, func(d control.Download) bool { return d.Error != "" })
			goesOn := c.began && !c.gone
			if (d.Done == 5) != goesOn || (d.Total == 10) != goesOn ||
				!strings.HasPrefix(d.Error, "There is no such model at "+none.URL) ||
				!strings.HasSuffix(d.Error, ".") {
				t.Errorf("%+v", d)
			}
			if err := a.library.DropDownload(t.Context(),
				control.DropRequest{ID: "org/name", Discard: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(first); os.IsNotExist(err) == (!c.began) {
				t.Error("the file in the first cache:", err)
			}
			if _, err := os.Stat(second); err != nil {
				t.Error("the file in the other cache is gone:", err)
			}
		})
	}
}

// A refused discard can be asked for again, also after a restart.
func TestRefusedDiscardCanBeAskedForAgain(t *testing.T) {
	cache, home := t.TempDir(), t.TempDir()
	file := begun(t, cache)
	lock := filepath.Join(cache, ".locks", "models--org--name", halfBlob+".lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		t.Fatal(err)
	}
	other, err := os.Create(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	a := openWith(t, home, hub.Options{CacheDir: cache},
		storage.Download{Cache: cache, Blobs: []string{halfBlob}, Done: 5, Total: 10})
	err = a.library.DropDownload(t.Context(), control.DropRequest{ID: "org/name", Discard: true})
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelBusy {
		t.Errorf("while another program fetches it: %v", err)
	}
	want := control.Download{ID: "org/name", Done: 5, Total: 10, Paused: true,
		Error: "The model is being downloaded: stop that first."}
	if list := a.library.Downloads(); len(list) != 1 || list[0] != want {
		t.Errorf("the state has %+v, want %+v", list, want)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	other.Close()
	a = open(t, setup{Home: home, Hub: hub.Options{CacheDir: cache}})
	if list := a.library.Downloads(); len(list) != 1 || list[0] != want {
		t.Errorf("after a restart the state has %+v, want %+v", list, want)
	}
	if err := a.library.DropDownload(t.Context(),
		control.DropRequest{ID: "org/name", Discard: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("its partial file is still there:", err)
	}
}

// Each attempt counts the bytes of the download again, because there may be fewer now.
func TestEachAttemptCountsTheBytesAgain(t *testing.T) {
	config := `{"model_type": "llama"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		commit := strings.Repeat("a", 40)
		if strings.HasPrefix(r.URL.Path, "/api/") {
			fmt.Fprintf(w, `{"id": "org/name", "sha": %q, "siblings": [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}]}`, commit)
			return
		}
		content := config
		if strings.HasSuffix(r.URL.Path, ".safetensors") {
			content = "weights"
		}
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("ETag", fmt.Sprintf("\"%x\"", sha256.Sum256([]byte(content))))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method == http.MethodGet {
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	cache := t.TempDir()
	a := openWith(t, t.TempDir(), hub.Options{CacheDir: cache, Endpoint: server.URL},
		storage.Download{Cache: cache, Done: 500, Total: 1000})
	if err := a.library.Download(t.Context(), control.PullRequest{ID: "org/name"}); err != nil {
		t.Fatal(err)
	}
	total := int64(len(config) + len("weights"))
	awaitDownload(t, a, func(d control.Download) bool { return d.Done == 0 && d.Total == total })
	if err := a.library.DropDownload(t.Context(),
		control.DropRequest{ID: "org/name", Discard: true}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "models--*")); len(left) > 0 {
		t.Errorf("a discard left %v", left)
	}
}

// A name that no model of the hub can have is refused at once. The error names the field.
func TestDownloadOfAnImpossibleNameIsRefused(t *testing.T) {
	a := open(t, setup{})
	for _, id := range []string{"hello", "hello@main", "../x", ""} {
		err := a.library.Download(t.Context(), control.PullRequest{ID: id})
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeInvalid ||
			e.Param != "id" || !strings.HasSuffix(e.Message, ".") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if list := a.library.Downloads(); len(list) > 0 {
		t.Errorf("the state has %+v", list)
	}
}
