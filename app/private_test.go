package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tandem/app/control"
	"tandem/app/endpoint"
	"tandem/app/home"
	"tandem/app/pool"
	"tandem/app/settings"
	"tandem/engine/enginetest"
)

// shortHome returns the path of a home folder that is not made yet. The path is short enough
// that the control socket lies in the folder.
func shortHome(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "home")
}

// Every file that Tandem writes has mode 600 and every folder 700, also with umask 0. No file
// has a key or a session in it.
func TestEveryFileIsReadableByItsOwnerAlone(t *testing.T) {
	model, dir := writeModel(t, "tiny"), shortHome(t)
	user := filepath.Dir(dir)
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	r := start(t, Options{Model: model, Home: dir, UserHome: user}, "127.0.0.1:0")
	c := r.client(t)
	key, err := control.Call(t.Context(), c, control.AddKey, control.KeyRequest{Name: "zed"})
	if err != nil {
		t.Fatal(err)
	}
	session := r.session(t)
	if _, err := r.change(t, `{"hub_token": "hf_secret", "start_hidden": true, "keep_requests": "7d"}`); err != nil {
		t.Fatal(err)
	}
	connect, err := control.Ask(t.Context(), c, control.GetConnect)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range connect.Connections {
		if x.File == "" {
			continue
		}
		if _, err := control.Call(t.Context(), c, control.WriteConnection, x.ID); err != nil {
			t.Errorf("%s: %v", x.ID, err)
		}
	}
	a := r.Send("/v1/completions",
		`{"model":"tandem","prompt":"func main() { ","max_tokens":100,"temperature":0,"ignore_eos":true}`)
	if a.err != nil || a.status != http.StatusOK {
		t.Fatalf("%+v", a)
	}
	if _, err := saveReport(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Ask(t.Context(), c, control.ExportSettings); err != nil {
		t.Fatal(err)
	}
	var kept []string
	enginetest.Await(t, "a checkpoint is written", func() bool { // after the answer
		if kept, err = filepath.Glob(filepath.Join(dir, pool.CheckpointFolder,
			"*.checkpoint")); err != nil {
			t.Fatal(err)
		}
		return len(kept) > 0
	})

	var seen []string
	err = filepath.WalkDir(user, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil // a finished file has got its name meanwhile
		}
		name, err := filepath.Rel(user, path)
		if err != nil {
			return err
		}
		seen = append(seen, name)
		want := fs.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
		}
		if info.Mode().IsRegular() {
			if text, err := os.ReadFile(path); err == nil &&
				(bytes.Contains(text, []byte(key.Secret)) ||
					bytes.Contains(text, []byte(session))) {
				t.Errorf("%s has a key or a session", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"lock", home.DatabaseFile, home.DatabaseFile + "-wal", home.DatabaseFile + "-shm",
		"run/control.sock", settings.TokenFile, control.HiddenFile,
		"connect/aider/aider.conf.yml", pool.CheckpointFolder + "/" + filepath.Base(kept[0]),
	} {
		if !slices.Contains(seen, filepath.Join("home", want)) {
			t.Errorf("there is no %s, so the test shows nothing about it: %q", want, seen)
		}
	}
	for _, want := range []string{"tandem-settings", "tandem-report"} {
		if !slices.ContainsFunc(seen, func(name string) bool {
			return strings.HasPrefix(name, want)
		}) {
			t.Errorf("there is no %s, so the test shows nothing about it: %q", want, seen)
		}
	}
}

// Without the setting network, Tandem listens at loopback addresses alone.
func TestWithoutNetworkOnlyLoopbackIsServed(t *testing.T) {
	a, err := Open(t.Context(), Options{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Listener
	a.endpoint.Listen = func(at endpoint.Binding) (list []net.Listener, err error) {
		list, err = endpoint.Listen(at)
		open = append(open, list...)
		return list, err
	}
	serving(t, a, ServeOptions{Addr: "127.0.0.1:0"})
	if len(open) == 0 {
		t.Fatal("Tandem listens nowhere")
	}
	for _, l := range open {
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("it listens at %s", l.Addr())
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range own {
		n, ok := address.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		url := fmt.Sprintf("http://%s/health",
			net.JoinHostPort(n.IP.String(), fmt.Sprint(a.endpoint.Binding().Port)))
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			t.Errorf("%s answers", url)
		}
	}
}

// No name that a client gives reaches a file that is not Tandem's: none is made, read, changed
// or deleted. Names of models, checkpoints, chats and downloads are tried at every route.
func TestNameOfAClientReachesNoForeignFile(t *testing.T) {
	outer := t.TempDir()
	const secret = "a text that no answer may have"
	home, cache := filepath.Join(outer, "in", "home"), filepath.Join(outer, "in", "cache")
	for _, name := range []string{"secret.txt", "config.json", "config.yaml", "in/secret.txt",
		"in/secret.checkpoint", "in/models--secret/blobs/x", "etc/secret.safetensors"} {
		path := filepath.Join(outer, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if branch, ok := strings.CutPrefix(r.URL.EscapedPath(),
			"/api/models/org/name/revision/"); !ok || strings.ContainsAny(branch, "/%") ||
			strings.HasPrefix(branch, ".") {
			t.Errorf("the hub was asked for %s", r.URL.EscapedPath())
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer hub.Close()
	o := Options{Home: home}
	o.Hub.CacheDir, o.Hub.Endpoint = cache, hub.URL
	r := start(t, o, "127.0.0.1:0")
	// In the folder of checkpoints, a link with a checkpoint's name leads to another place.
	if err := os.MkdirAll(r.home.Path(pool.CheckpointFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outer, "in/secret.checkpoint"),
		r.home.Path(pool.CheckpointFolder, "link.checkpoint")); err != nil {
		t.Fatal(err)
	}
	tree := func() (list []string) {
		err := filepath.WalkDir(outer, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path == home {
				return fs.SkipDir
			}
			list = append(list, path)
			if !e.IsDir() {
				list = append(list, readText(t, path))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before, inHome := tree(), namesOf(t, home)

	session := r.session(t)
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque = path // sent as it is, not cleaned
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+session)
		client := http.Client{CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	for _, name := range []string{
		"..", "../..", "../../secret.txt", "../in/secret", "../secret", "a/../../secret", outer,
		filepath.Join(outer, "secret.txt"), filepath.Join(outer, "in"), "./secret", "~/secret",
		`..\secret`, "C:secret", "secret\x00", "org/..", "../org", "org/../../secret", "org--..",
		"models--secret", "org/name@../../secret", "org/name@" + outer, "org/name@main/../..",
		"file://" + outer + "/secret.txt", hub.URL + "/x", "link", "link.checkpoint", "*",
		strings.Repeat("../", 300) + "etc/passwd", strings.Repeat("x", 5000),
	} {
		quoted := func(format string) string {
			b, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf(format, b)
		}
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/v1/models/{}", ""},
			{"POST", "/v1/completions", quoted(`{"model":%s,"prompt":"x"}`)},
			{"POST", "/v1/chat/completions", quoted(`{"model":%s,"messages":[{"role":"user","content":"x"}]}`)},
			{"POST", "/app/load", quoted(`{"model":%s}`)},
			{"POST", "/app/drafter", quoted(`{"model":%s,"drafter":"auto"}`)},
			{"GET", "/app/model-settings?model={}", ""},
			{"POST", "/app/model-settings", quoted(`{"model":%s}`)},
			{"POST", "/app/pull", quoted(`{"id":%s}`)},
			{"POST", "/app/pull", quoted(`{"id":"org/name","revision":%s}`)},
			{"POST", "/app/downloads", quoted(`{"id":%s}`)},
			{"POST", "/app/downloads", quoted(`{"id":"org/name","revision":%s}`)},
			{"POST", "/app/downloads/pause", quoted(`{"id":%s}`)},
			{"POST", "/app/downloads/drop", quoted(`{"id":%s,"discard":true}`)},
			{"POST", "/app/models", quoted(`{"path":"/nowhere","id":%s}`)},
			{"DELETE", "/app/models/{}", ""},
			{"GET", "/app/removal?model={}", ""},
			{"POST", "/app/reveal", quoted(`{"model":%s}`)},
			{"GET", "/app/checkpoints?model={}", ""},
			{"GET", "/app/checkpoints?before={}", ""},
			{"GET", "/app/checkpoints/{}/deletion?all=true", ""},
			{"GET", "/app/checkpoints/{}?whole=true", ""},
			{"POST", "/app/checkpoints/{}", `{"name":"x","pinned":true}`},
			{"DELETE", "/app/checkpoints/{}?all=true", ""},
			{"POST", "/app/checkpoints/{}/verify", "{}"},
			{"POST", "/app/checkpoints/{}/branch", `{"prompt":"x"}`},
			{"POST", "/app/connect/{}", "{}"},
			{"GET", "/app/chats/{}", ""},
			{"DELETE", "/app/chats/{}", ""},
			{"GET", "/app/chats/{}/deletion", ""},
			{"GET", "/app/runs/{}", ""},
			{"GET", "/app/runs/{}/report", ""},
			{"POST", "/app/runs/{}/resume", "{}"},
			{"POST", "/app/runs/{}/verify", "{}"},
			{"POST", "/app/runs/{}/cancel", "{}"},
			{"DELETE", "/app/benches/{}", ""},
			{"DELETE", "/app/keys/{}", ""},
			{"DELETE", "/app/texts/{}", ""},
			{"POST", "/app/forget", quoted(`{"model":%s}`)},
			{"GET", "/app/forget?model={}", ""},
			{"GET", "/assets/{}", ""},
		} {
			for _, spelled := range []string{url.PathEscape(name), escapeAll(name)} {
				status, body := ask(c.method, strings.Replace(c.path, "{}", spelled, 1), c.body)
				if status == http.StatusInternalServerError || strings.Contains(body, secret) {
					t.Errorf("%s %s %s with the name %.60q: status %d, %.300s",
						c.method, c.path, c.body, name, status, body)
				}
				if !strings.Contains(c.path, "{}") {
					break // a body has one spelling of the name
				}
			}
		}
	}
	if after := tree(); !slices.Equal(before, after) {
		t.Errorf("files outside the home folder changed: now %q, before %q", after, before)
	}
	for _, path := range namesOf(t, home) {
		if !slices.Contains(inHome, path) {
			t.Errorf("the file %s was made in the home folder", path)
		}
	}
}

// escapeAll returns a name with every byte percent-encoded.
func escapeAll(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// namesOf lists the paths of a folder and of everything in it.
func namesOf(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// session exchanges a new code for a session.
func (r *running) session(t *testing.T) string {
	t.Helper()
	code, err := control.Ask(t.Context(), r.client(t), control.IssueCode)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(r.url+"/app/session", "application/json",
		strings.NewReader(fmt.Sprintf(`{"code":%q}`, code.Code)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var s control.Session
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil || s.Session == "" {
		t.Fatalf("the session is %+v %v", s, err)
	}
	return s.Session
}
