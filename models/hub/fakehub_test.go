package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	hubHost = "hub.test:80"
	cdnHost = "cdn.test:80"
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// A fakeHub is a hub and its storage, two hosts on connections in memory, so that it runs under a
// fake clock. Like the real one it sends small files itself and redirects large ones to the
// storage.
type fakeHub struct {
	t      *testing.T
	client *http.Client

	mu     sync.Mutex
	commit string
	files  map[string][]byte
	// METHOD HOST PATH [RANGE] [with token]
	requests []string
	// answers a request itself if it returns true
	hook     func(w http.ResponseWriter, r *http.Request) bool
	announce func(name string, etag string) (claimed string) // changes the ETag that is announced
	siblings func(names []string) any                        // changes the list of files
}

// newFakeHub starts a hub with one model. Under synctest it must be called inside the bubble.
func newFakeHub(t *testing.T, files map[string][]byte) *fakeHub {
	h := &fakeHub{t: t, commit: commitA, files: files}
	dial := make(map[string]chan net.Conn)
	var servers []*http.Server
	var running sync.WaitGroup
	for host, handler := range map[string]http.HandlerFunc{hubHost: h.serveHub,
		cdnHost: h.serveStorage} {
		l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
		dial[host] = l.conns
		s := &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !h.note(w, r) {
					handler(w, r)
				}
			})}
		servers = append(servers, s)
		running.Go(func() { s.Serve(l) })
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _,
		address string) (net.Conn, error) {
		conns, ok := dial[address]
		if !ok {
			return nil, fmt.Errorf("lookup %s: no such host", address)
		}
		client, server := net.Pipe()
		select {
		case conns <- server:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	h.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		for _, s := range servers {
			s.Close()
		}
		running.Wait()
	})
	return h
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// note keeps a request and offers it to the hook.
func (h *fakeHub) note(w http.ResponseWriter, r *http.Request) bool {
	line := r.Method + " " + r.Host + " " + r.URL.Path
	if s := r.Header.Get("Range"); s != "" {
		line += " " + s
	}
	if r.Header.Get("Authorization") != "" {
		line += " with token"
	}
	h.mu.Lock()
	h.requests = append(h.requests, line)
	hook := h.hook
	h.mu.Unlock()
	return hook != nil && hook(w, r)
}

func (h *fakeHub) serveHub(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/")
	if _, ok := strings.CutPrefix(path, "api/models/org/name/revision/"); ok {
		var siblings any = siblingList(h.names())
		if r.URL.Query().Get("blobs") == "true" {
			siblings = h.sized()
		}
		if h.siblings != nil {
			siblings = h.siblings(h.names())
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "org/name", "sha": h.commit,
			"siblings": siblings, "gated": false})
		return
	}
	name, ok := strings.CutPrefix(path, "org/name/resolve/"+h.commit+"/")
	content, found := h.files[name]
	if !ok || !found {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	etag := etagOf(name, content)
	if h.announce != nil {
		etag = h.announce(name, etag)
	}
	w.Header().Set("X-Repo-Commit", h.commit)
	if !large(name) {
		w.Header().Set("ETag", `"`+etag+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		return
	}
	w.Header().Set("X-Linked-Etag", `"`+etag+`"`)
	w.Header().Set("X-Linked-Size", fmt.Sprint(len(content)))
	w.Header().Set("Location", "http://"+strings.TrimSuffix(cdnHost,
		":80")+"/blob/"+name+"?signature=secret")
	w.WriteHeader(http.StatusFound)
}

// names is the list of files as the hub gives it. The caller holds the lock.
func (h *fakeHub) names() []string { return slices.Sorted(maps.Keys(h.files)) }

// sized is the list with sizes. The caller holds the lock.
func (h *fakeHub) sized() (list []map[string]any) {
	for _, name := range h.names() {
		list = append(list, map[string]any{"rfilename": name, "size": len(h.files[name])})
	}
	return list
}

func (h *fakeHub) serveStorage(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	content, ok := h.files[strings.TrimPrefix(r.URL.Path, "/blob/")]
	h.mu.Unlock()
	if !ok || r.URL.Query().Get("signature") != "secret" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	w.Header().Set("ETag", `"the storage's own"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// A siblingList is a list of names as the hub writes it: objects with an rfilename.
type siblingList []string

func (s siblingList) MarshalJSON() ([]byte, error) {
	list := []map[string]string{}
	for _, name := range s {
		list = append(list, map[string]string{"rfilename": name})
	}
	return json.Marshal(list)
}

func large(name string) bool {
	return strings.HasSuffix(name, ".safetensors") || strings.HasSuffix(name, ".model") ||
		strings.HasSuffix(name, ".gguf")
}

func etagOf(name string, content []byte) string {
	if large(name) {
		return fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content)))
}

// set changes the hub between or during requests.
func (h *fakeHub) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// seen returns the requests that contain every word.
func (h *fakeHub) seen(words ...string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []string
	for _, r := range h.requests {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(r, w) }) {
			found = append(found, r)
		}
	}
	return found
}

// options are for a pull from h into a new cache.
func (h *fakeHub) options(cache string) Options {
	return Options{
		CacheDir: cache, Endpoint: "http://hub.test", Token: "hf_secret", Client: h.client,
		Logger: slog.New(slog.NewTextHandler(h.t.Output(), nil)),
	}
}

// weights are n bytes that differ from place to place.
func weights(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// model returns a typical repository: a sharded model among files that it does not need.
func model() map[string][]byte {
	return map[string][]byte{
		".gitattributes":                   []byte("*.safetensors filter=lfs"),
		"README.md":                        []byte("# model"),
		"config.json":                      []byte(`{"model_type": "llama"}`),
		"tokenizer.json":                   []byte(`{"model": {}}`),
		"tokenizer.model":                  weights(5000),
		"merges.txt":                       []byte("a b"),
		"empty.txt":                        nil,
		"chat_template.jinja":              []byte("{{ messages }}"),
		"templates/tool use.jinja":         []byte("{{ tools }}"),
		"pytorch_model.bin":                []byte("a pickle"),
		"training_args.pkl":                []byte("a pickle"),
		"modeling.py":                      []byte("import os"),
		"original/model.safetensors":       weights(10),
		"consolidated.safetensors":         weights(20),
		"model.safetensors.index.json":     []byte(`{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"}}`),
		"model-00001-of-00002.safetensors": weights(700_000),
		"model-00002-of-00002.safetensors": weights(300_000),
	}
}

// fetched are the files of model that a pull gets.
var fetched = []string{
	"chat_template.jinja", "config.json", "empty.txt", "merges.txt",
	"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
	"model.safetensors.index.json", "templates/tool use.jinja", "tokenizer.json", "tokenizer.model",
}

// tree lists the files and links under a folder, links with their targets, locks left out.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		if strings.HasPrefix(name, ".locks") {
			return nil
		}
		if target, err := os.Readlink(file); err == nil {
			name += " -> " + target
		}
		all = append(all, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same checks that a pulled model has exactly the files it should, with their content.
func same(t *testing.T, dir string, files map[string][]byte, names []string) {
	t.Helper()
	var got []string
	for _, line := range tree(t, dir) {
		name, _, _ := strings.Cut(line, " -> ")
		got = append(got, name)
	}
	if !slices.Equal(got, names) {
		t.Errorf("the snapshot holds %q, want %q", got, names)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(data, files[name]) {
			t.Errorf("%s has %d bytes, %v, want the hub's %d",
				name, len(data), err, len(files[name]))
		}
	}
}

func wantCode(t *testing.T, err error, code Code, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != code {
		t.Fatalf("error %v, want code %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(e.Error(), word) {
			t.Errorf("error %q lacks %q", e, word)
		}
	}
}

// cut answers with the content of a file up to n bytes after the start of the range, and then
// breaks the connection.
func cut(w http.ResponseWriter, r *http.Request, content []byte, n int) {
	start := 0
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)-start))
	if start > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d",
			start, len(content)-1, len(content)))
		w.WriteHeader(http.StatusPartialContent)
	}
	w.Write(content[start:min(start+n, len(content))])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// TestFakeHubRefusesWhatItLacks shows that the fake can fail.
func TestFakeHubRefusesWhatItLacks(t *testing.T) {
	h := newFakeHub(t, model())
	for path, want := range map[string]int{
		"/org/name/resolve/" + commitA + "/config.json":            200,
		"/org/name/resolve/" + commitB + "/config.json":            404,
		"/org/name/resolve/" + commitA + "/tokenizer.model":        302,
		"/org/name/resolve/" + commitA + "/templates/missing.json": 404,
	} {
		w := httptest.NewRecorder()
		h.serveHub(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s gives %d, want %d", path, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	h.serveStorage(w, httptest.NewRequest(http.MethodGet, "/blob/tokenizer.model", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("the storage answers %d without a signature", w.Code)
	}
	io.Copy(io.Discard, w.Body)
}
