package library

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models/hub"
)

// A shelf of repositories serves folders by their names at a hub. Weights of a held one stop in their
// middle.
type shelf struct {
	mu    sync.Mutex
	dirs  map[string]string
	held  map[string]bool
	began map[string]int // fetches of weights
	from  map[string]string
}

func (s *shelf) hold(name string, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = held
}

func (s *shelf) fetches(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began[name]
}

const shelfCommit = "0123456789abcdef0123456789abcdef01234567"

func (s *shelf) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	path := strings.TrimPrefix(q.URL.Path, "/")
	if api, ok := strings.CutPrefix(path, "api/models/"); ok {
		parts := strings.Split(api, "/")
		entries, err := os.ReadDir(s.dirs[parts[0]+"/"+parts[1]])
		if err != nil {
			http.NotFound(w, q)
			return
		}
		var list []map[string]any
		for _, e := range entries {
			info, _ := e.Info()
			list = append(list, map[string]any{"rfilename": e.Name(), "size": info.Size()})
		}
		json.NewEncoder(w).Encode(map[string]any{"sha": shelfCommit, "siblings": list})
		return
	}
	id, file, _ := strings.Cut(path, "/resolve/"+shelfCommit+"/")
	data, err := os.ReadFile(filepath.Join(s.dirs[id], file))
	if err != nil {
		http.NotFound(w, q)
		return
	}
	etag := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
	w.Header().Set("X-Repo-Commit", shelfCommit)
	if filepath.Ext(file) != ".safetensors" {
		w.Header().Set("ETag", `"`+etag+`"`)
		http.ServeFile(w, q, filepath.Join(s.dirs[id], file))
		return
	}
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(data))))
	span := q.Header.Get("Range")
	s.mu.Lock()
	held := s.held[id] && q.Method == http.MethodGet
	if span == "" || strings.HasSuffix(span, "-") { // else a look at the header
		s.began[id]++
		s.from[id] = span
	} else {
		held = false
	}
	s.mu.Unlock()
	if !held {
		http.ServeFile(w, q, filepath.Join(s.dirs[id], file))
		return
	}
	from, status := 0, http.StatusOK
	if _, err := fmt.Sscanf(span, "bytes=%d-", &from); err == nil {
		status = http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
	w.WriteHeader(status)
	w.Write(data[from:max(from, len(data)/2)])
	w.(http.Flusher).Flush()
	select { // until its client gives up, or the test lets go
	case <-q.Context().Done():
	case <-time.After(time.Minute):
	}
}

const (
	offered        = "org/tiny-4bit"
	offeredDrafter = "lab/tiny-DFlash"
)

// openShelf opens a library whose catalogue has a model with a drafter.
func openShelf(t *testing.T, home string, s *shelf, endpoint, cache string) *opened {
	t.Helper()
	a := open(t, setup{Home: home, Hub: hub.Options{CacheDir: cache, Endpoint: endpoint}})
	a.library.offers = []control.Suggested{{ID: offered, Drafters: []control.SuggestedDrafter{
		{ID: offeredDrafter, Kind: "dflash"}, {ID: "lab/tiny-MTP", Kind: "mtp"}}}}
	return a
}

func newShelf(t *testing.T) (*shelf, string) {
	t.Helper()
	s := &shelf{dirs: map[string]string{offered: enginetest.TinyModel(t, "qwen3"),
		offeredDrafter: enginetest.TinyDrafter(t, nil)}, held: map[string]bool{},
		began: map[string]int{}, from: map[string]string{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

// A pull of a suggested model brings its drafter, whose bytes count from the beginning. The model's
// registration does not depend on it.
func TestPullBringsTheDrafter(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*shelf, *control.PullRequest)
		there  bool
		note   string
	}{
		{"both", func(*shelf, *control.PullRequest) {}, true, "its drafter lab/tiny-DFlash came with it"},
		{"left out", func(_ *shelf, r *control.PullRequest) { r.NoDrafter = true }, false, ""},
		{"not at the hub", func(s *shelf, _ *control.PullRequest) { delete(s.dirs, offeredDrafter) }, false,
			"its drafter lab/tiny-DFlash was not downloaded, and org/tiny-4bit answers without it: "},
		{"of another model", func(s *shelf, _ *control.PullRequest) {
			s.dirs[offeredDrafter] = enginetest.TinyDrafter(t, map[string]any{"num_target_layers": 36})
		}, false, "36 layers"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, endpoint := newShelf(t)
			r := control.PullRequest{ID: offered}
			x.change(s, &r)
			cache := t.TempDir()
			a := openShelf(t, "", s, endpoint, cache)
			var note string
			var last, first control.Progress
			m, err := a.library.Pull(t.Context(), r, func(p control.Progress) {
				if p.Note != "" {
					note = p.Note
					return
				}
				if first.Total == 0 {
					first = p
				}
				if p.Done < last.Done {
					t.Errorf("%d bytes after %d", p.Done, last.Done)
				}
				last = p
			})
			if err != nil || m.ID != offered {
				t.Fatalf("%+v, %v", m, err)
			}
			if !strings.Contains(note, x.note) || x.note == "" && note != "" ||
				strings.Contains(note, "no model of its own") {
				t.Errorf("the note is %q, want %q", note, x.note)
			}
			_, err = hub.Resolve(cache, offeredDrafter)
			if (err == nil) != x.there {
				t.Errorf("the drafter: %v", err)
			}
			if x.there && (first.Total != last.Total || last.Done != last.Total) {
				t.Errorf("from %+v to %+v, want one total", first, last)
			}
			if got, err := a.pool.Candidates(t.Context(), offered); err != nil ||
				(len(got) == 1) != x.there {
				t.Errorf("the model could have %+v, %v", got, err)
			}
		})
	}
}

// A download of a suggested model shows its drafter as a part of it, pauses and goes on with it, also
// in the next process.
func TestDownloadHasTheDrafterAsAPart(t *testing.T) {
	s, endpoint := newShelf(t)
	cache, home := t.TempDir(), t.TempDir()
	s.hold(offered, true)
	s.hold(offeredDrafter, true)
	a := openShelf(t, home, s, endpoint, cache)
	if err := a.library.Download(t.Context(), control.PullRequest{ID: offered}); err != nil {
		t.Fatal(err)
	}
	size := func(id string) int64 {
		n, err := hub.Size(t.Context(), id, hub.Options{CacheDir: cache, Endpoint: endpoint})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	both := size(offered) + size(offeredDrafter)
	half := func(x control.Download) bool {
		return x.ID == offered && x.Drafter == offeredDrafter && x.Total == both &&
			x.Done > both/3 && s.fetches(offeredDrafter) > 0
	}
	awaitDownload(t, a, half)
	if err := a.library.PauseDownload(t.Context(), offered); err != nil {
		t.Fatal(err)
	}
	awaitDownload(t, a, func(x control.Download) bool { return x.Paused && half(x) })
	if rows, err := a.db.Models.Downloads(t.Context()); err != nil || len(rows) != 2 || !rows[0].Paused ||
		!rows[1].Paused {
		t.Errorf("the records are %+v, %v", rows, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = openShelf(t, home, s, endpoint, cache)
	awaitDownload(t, a, func(x control.Download) bool { return x.Paused && half(x) })
	s.hold(offeredDrafter, false)
	if err := a.library.Download(t.Context(), control.PullRequest{ID: offered}); err != nil {
		t.Fatal(err)
	}
	// The drafter is complete first, and its bytes go on to count.
	awaitDownload(t, a, func(x control.Download) bool {
		_, err := hub.Resolve(cache, offeredDrafter)
		return err == nil && half(x)
	})
	if from := s.from[offeredDrafter]; !strings.HasPrefix(from, "bytes=") || from == "bytes=0-" {
		t.Errorf("the drafter was fetched from %q, not from where it stopped", from)
	}
	if err := a.library.DropDownload(t.Context(),
		control.DropRequest{ID: offered, Discard: true}); err != nil {
		t.Fatal(err)
	}
	if list := a.library.Downloads(); len(list) > 0 {
		t.Errorf("after the cancel there are %+v", list)
	}
}

// A drafter that fails is told beside the model's download, which goes on. Once the model is there the
// drafter can be asked for again. A cancel stops both.
func TestDownloadGoesOnWithoutAFailedDrafter(t *testing.T) {
	s, endpoint := newShelf(t)
	s.hold(offered, true)
	dir := s.dirs[offeredDrafter]
	delete(s.dirs, offeredDrafter)
	a := openShelf(t, "", s, endpoint, t.TempDir())
	if err := a.library.Download(t.Context(), control.PullRequest{ID: offered}); err != nil {
		t.Fatal(err)
	}
	awaitDownload(t, a, func(x control.Download) bool {
		return x.ID == offered && x.Error == "" && x.DrafterError != "" && x.Total > 0 && x.Done > 0
	})
	if err := a.library.PauseDownload(t.Context(), offered); err != nil {
		t.Fatal(err)
	}
	awaitDownload(t, a, func(x control.Download) bool { return x.Paused })
	s.hold(offered, false)
	if err := a.library.Download(t.Context(), control.PullRequest{ID: offered}); err != nil {
		t.Fatal(err)
	}
	awaitDownload(t, a, func(x control.Download) bool { return x.ID == offeredDrafter && x.Error != "" })
	if list, err := a.library.Models(t.Context()); err != nil || len(list) < 2 {
		t.Errorf("the models are %+v, %v", list, err)
	}
	s.mu.Lock()
	s.dirs[offeredDrafter] = dir
	s.mu.Unlock()
	if err := a.library.Download(t.Context(), control.PullRequest{ID: offeredDrafter}); err != nil {
		t.Fatal(err)
	}
	enginetest.Await(t, "the download ends", func() bool { return len(a.library.Downloads()) == 0 })

	// Without the drafter there is one record.
	s.hold(offered, true)
	b := openShelf(t, "", s, endpoint, t.TempDir())
	if err := b.library.Download(t.Context(),
		control.PullRequest{ID: offered, NoDrafter: true}); err != nil {
		t.Fatal(err)
	}
	awaitDownload(t, b, func(x control.Download) bool { return x.Done > 0 && x.Drafter == "" })
	if err := b.library.PauseDownload(t.Context(), offered); err != nil {
		t.Fatal(err)
	}
	if err := b.library.Download(t.Context(), control.PullRequest{ID: offered}); err != nil {
		t.Fatal(err)
	}
	if rows, err := b.db.Models.Downloads(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("the records are %+v, %v", rows, err)
	}
}
