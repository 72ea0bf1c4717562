package main

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

const (
	hubToken  = "hf_secret"
	hubCommit = "0123456789abcdef0123456789abcdef01234567"
)

// A fakeHub serves one model, lab/tiny, to requests with hubToken.
type fakeHub struct {
	dir    string // the folder with the model's files
	commit string // hubCommit if empty

	hold chan struct{} // weights stop in their middle until it is closed; nil = they do not stop

	mu       sync.Mutex
	requests []string // METHOD PATH
	down     int      // the number of next requests that get 503
}

// asksForHead reports whether a request is for the beginning of a file, whose end it names.
func asksForHead(r *http.Request) bool {
	at := r.Header.Get("Range")
	return at != "" && !strings.HasSuffix(at, "-")
}

func (h *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests = append(h.requests, r.Method+" "+r.URL.Path)
	down := h.down > 0
	if down {
		h.down--
	}
	h.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	path, commit := strings.TrimPrefix(r.URL.Path, "/"), cmp.Or(h.commit, hubCommit)
	if !strings.HasPrefix(path, "lab/tiny/") && !strings.HasPrefix(path, "api/models/lab/tiny/") {
		w.Header().Set("X-Error-Code", "RepoNotFound")
		http.Error(w, "no such model", http.StatusNotFound)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+hubToken {
		w.Header().Set("X-Error-Code", "GatedRepo")
		http.Error(w, "gated", http.StatusForbidden)
		return
	}
	if strings.HasPrefix(path, "api/models/lab/tiny/revision/") {
		files, _ := os.ReadDir(h.dir)
		siblings := []map[string]string{}
		for _, f := range files {
			siblings = append(siblings, map[string]string{"rfilename": f.Name()})
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "lab/tiny", "sha": commit,
			"siblings": siblings, "gated": "auto"})
		return
	}
	name, ok := strings.CutPrefix(path, "lab/tiny/resolve/"+commit+"/")
	content, err := os.ReadFile(filepath.Join(h.dir, name))
	if !ok || err != nil {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	etag := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content)))
	if strings.HasSuffix(name, ".safetensors") {
		etag = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	w.Header().Set("X-Repo-Commit", commit)
	w.Header().Set("ETag", `"`+etag+`"`)
	if h.hold != nil && r.Method == http.MethodGet && strings.HasSuffix(name, ".safetensors") &&
		!asksForHead(r) {
		select {
		case <-h.hold:
		default:
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = w.Write(content[:len(content)/2])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-h.hold:
			case <-r.Context().Done():
			}
			return
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// bodies returns the number of files that were downloaded since the last call.
func (h *fakeHub) bodies() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.requests {
		if strings.HasPrefix(r, "GET ") && strings.Contains(r, "/resolve/") {
			n++
		}
	}
	h.requests = nil
	return n
}

// A pull fetches a model, registers it and draws a bar on a terminal. A second pull fetches
// nothing. A removal deletes the files. A pull that the hub refuses fails with the reason.
func TestPullFetchesRegistersAndShowsProgress(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil)}
	server := httptest.NewServer(hub)
	defer server.Close()
	home := newHome(t)
	c := newConsole(t, home)
	c.env["HF_ENDPOINT"], c.terminal = server.URL+"/", true

	// The hub refuses these names, each with its reason.
	for name, want := range map[string]string{
		"lab/tiny":    `(?i)token`,
		"lab/unknown": `lab/unknown`,
		"../../etc/x": `etc`,
	} {
		if code := c.tandem(t.Context(), "pull", name); code != 1 || c.stdout != "" ||
			!regexp.MustCompile(want).MatchString(c.stderr) {
			t.Errorf("pull %s: exit %d, %q %q", name, code, c.stdout, c.stderr)
		}
	}
	hub.bodies()

	c.env["HF_TOKEN"] = hubToken
	if out := c.must(t, "pull", "lab/tiny"); out != "lab/tiny\n" {
		t.Errorf("standard output is %q, want the id", out)
	}
	if !regexp.MustCompile("\\r\\x1b\\[Klab/tiny \\[={30}\\] 100% [0-9.]+ kB of [0-9.]+ kB.*\n`tandem use lab/tiny` makes it the current model\\.\n\\z").MatchString(c.stderr) {
		t.Errorf("no bar on standard error: %q", c.stderr)
	}
	if n := hub.bodies(); n == 0 {
		t.Error("the first pull fetched no file")
	}
	snapshot := filepath.Join(c.env["HF_HUB_CACHE"], "models--lab--tiny", "snapshots", hubCommit)
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json",
		"chat_template.jinja"} {
		got, err := os.ReadFile(filepath.Join(snapshot, name))
		want, _ := os.ReadFile(filepath.Join(hub.dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d of the hub: %v", name, len(got), len(want), err)
		}
	}

	// Nothing is drawn without a terminal. A file on disk is not fetched.
	c.terminal = false
	c.must(t, "pull", "lab/tiny@main")
	if n := hub.bodies(); n != 0 || c.stderr != "" {
		t.Errorf("the second pull fetched %d files and wrote %q, want nothing", n, c.stderr)
	}
	list := lines[control.Model](t, c.must(t, "models", "list", "--json"))
	i := slices.IndexFunc(list, func(m control.Model) bool { return m.ID == "lab/tiny" })
	if i < 0 || !list[i].DownloadedByUs || list[i].Revision != hubCommit ||
		list[i].Path != snapshot {
		t.Errorf("the models are %+v, want lab/tiny at %s", list, snapshot)
	}
	if out := c.must(t, "run", "--model", "lab/tiny", "--max-tokens", "2", "--temperature", "0",
		"--json", "x"); !strings.Contains(out, `"finish_reason"`) {
		t.Errorf("run prints %s", out)
	}

	// A removal deletes the files that Tandem downloaded.
	c.must(t, "models", "remove", "--yes", "lab/tiny")
	if _, err := os.Stat(snapshot); !os.IsNotExist(err) {
		t.Errorf("the snapshot is there after the removal: %v", err)
	}
}

// If HF_HUB_OFFLINE forbids downloads and files are missing, the error says what to do.
func TestOfflinePullOfAnIncompleteModelSaysWhatToDo(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil)}
	server := httptest.NewServer(hub)
	defer server.Close()
	c := newConsole(t, newHome(t))
	c.env["HF_ENDPOINT"], c.env["HF_TOKEN"] = server.URL, hubToken
	refused := func(offline, want string) {
		t.Helper()
		c.env["HF_HUB_OFFLINE"] = offline
		if code := c.tandem(t.Context(), "pull", "lab/tiny"); code != 1 || c.stderr != want {
			t.Errorf("exit %d, %q, want %q", code, c.stderr, want)
		}
	}
	cache := c.env["HF_HUB_CACHE"]
	refused("1", "tandem: lab/tiny: the model is not in the cache "+cache+
		", and HF_HUB_OFFLINE forbids downloading it: unset HF_HUB_OFFLINE and pull again\n")
	c.env["HF_HUB_OFFLINE"] = "0"
	c.must(t, "pull", "lab/tiny")
	c.env["HF_HUB_OFFLINE"] = "1"
	c.must(t, "pull", "lab/tiny") // its files are on disk
	must(t, os.Remove(filepath.Join(cache, "models--lab--tiny", "snapshots", hubCommit,
		"model.safetensors")))
	// The Hugging Face libraries accept the spelling True too.
	refused("True", "tandem: lab/tiny: the model is only half downloaded, model.safetensors is missing in the cache "+cache+
		", and HF_HUB_OFFLINE forbids downloading it: unset HF_HUB_OFFLINE and pull again\n")
}

// A complete model on disk is used while the hub cannot be reached. Standard error says so.
func TestPullUsesTheDiskIfTheHubIsDown(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil)}
	server := httptest.NewServer(hub)
	defer server.Close()
	c := newConsole(t, newHome(t))
	c.env["HF_ENDPOINT"], c.env["HF_TOKEN"] = server.URL, hubToken
	c.must(t, "pull", "lab/tiny")
	server.Close()
	if out := c.must(t, "pull", "lab/tiny"); out != "lab/tiny\n" ||
		strings.Count(c.stderr, "\n") != 1 ||
		!strings.HasPrefix(c.stderr, "tandem: the hub could not be asked") ||
		!strings.Contains(c.stderr, strings.TrimPrefix(server.URL, "http://")) {
		t.Errorf("a model on disk: %q %q, want its id and one line about the hub", out, c.stderr)
	}
	if code := c.tandem(t.Context(), "pull", "lab/other"); code != 1 ||
		c.stderr != "tandem: The hub at "+strings.TrimPrefix(server.URL,
			"http://")+" cannot be reached: check the internet connection, or the hub in Settings.\n" {
		t.Errorf("a model that is not on disk: exit %d, %q", code, c.stderr)
	}
	// The folder gives the model its id, also if it is added by hand.
	snapshot := filepath.Join(c.env["HF_HUB_CACHE"], "models--lab--tiny", "snapshots", hubCommit)
	second := newConsole(t, newHome(t))
	if out := second.must(t, "models", "add", snapshot); !strings.Contains(out, "lab/tiny") {
		t.Errorf("the added folder is registered as %q, want lab/tiny", out)
	}
}

// A name without an organization is refused before the hub is asked. The error is one sentence and
// names it once, with and without a server.
func TestPullRefusesANameWithoutAnOrganization(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil)}
	server := httptest.NewServer(hub)
	defer server.Close()
	home := newHome(t)
	c := newConsole(t, home)
	c.env["HF_ENDPOINT"] = server.URL
	t.Setenv("HF_ENDPOINT", server.URL) // for the process
	check := func(name, want string) {
		t.Helper()
		if code := c.tandem(t.Context(), "pull", name); code != 1 || c.stdout != "" ||
			c.stderr != want {
			t.Errorf("pull %s: exit %d, %q %q, want %q", name, code, c.stdout, c.stderr, want)
		}
	}
	noOrg := "tandem: Which \"nosuch\"? Write it as ORG/NAME, for example Qwen/Qwen3-8B.\n"
	check("nosuch", noOrg)
	for name, want := range map[string]string{"qwen3": "Qwen3-1.7B-4bit", "qwen3:8b": "Qwen3-8B-4bit", "Llama3.2:3b": "Llama-3.2-3B-Instruct-4bit", "qwen3.5": "Qwen3.5-4B-MLX-4bit"} {
		want = "tandem pull: a name at the hub is ORG/NAME; did you mean mlx-community/" + want + "?\n"
		if code := c.tandem(t.Context(), "pull", name); code != 2 || c.stderr != want {
			t.Errorf("pull %s: exit %d, %q, want %q", name, code, c.stderr, want)
		}
	}
	p := serveProcess(t, home)
	defer p.stop(t)
	check("nosuch", noOrg)
	if len(hub.requests) > 0 {
		t.Errorf("the hub got requests: %v", hub.requests)
	}
	if c.tandem(t.Context(), "pull", "lab/unknown"); strings.Count(c.stderr, "lab/unknown") != 1 {
		t.Errorf("the error names lab/unknown not exactly once: %q", c.stderr)
	}
}

// If another process downloads, the error says that its HF_ENDPOINT is the wrong one.
func TestPullSaysWhoseEndpointIsWrong(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	c.env["HF_ENDPOINT"] = "hub.example.org"
	check := func(want string) {
		t.Helper()
		if code := c.tandem(t.Context(), "pull", "lab/tiny"); code != 1 || c.stdout != "" ||
			c.stderr != want {
			t.Errorf("exit %d, %q %q, want %q", code, c.stdout, c.stderr, want)
		}
	}
	const noHub = "tandem: lab/tiny: \"hub.example.org\" is not the address of a hub: it looks like https://huggingface.co"
	check(noHub + "\n")
	t.Setenv("HF_ENDPOINT", c.env["HF_ENDPOINT"]) // for the process
	p := serveProcess(t, home)
	defer p.stop(t)
	check(fmt.Sprintf("%s (the server, process %d, downloads with its own HF_ variables)\n", noHub, p.Process.Pid))
}

// The line on the terminal says that a pull tries again, and why.
func TestPullShowsThatItWaits(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil), down: 1}
	server := httptest.NewServer(hub)
	defer server.Close()
	c := newConsole(t, newHome(t))
	c.env["HF_ENDPOINT"], c.env["HF_TOKEN"], c.terminal = server.URL, hubToken, true
	c.must(t, "pull", "lab/tiny")
	if want := regexp.MustCompile(`\r\x1b\[Klab/tiny, trying again in 1s: [0-9.:]+ answers "503 [^:\r]*\r`); !want.MatchString(c.stderr) {
		t.Errorf("the terminal shows %q, want a line that names the 503", c.stderr)
	}
}

// Files that another program downloaded are used and never deleted.
func TestForeignDownloadsAreNeverDeleted(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil)}
	server := httptest.NewServer(hub)
	defer server.Close()
	first := newConsole(t, newHome(t))
	first.env["HF_ENDPOINT"], first.env["HF_TOKEN"] = server.URL, hubToken
	first.must(t, "pull", "lab/tiny")
	hub.bodies()
	second := newConsole(t, newHome(t))
	for _, name := range []string{"HF_ENDPOINT", "HF_TOKEN", "HF_HUB_CACHE"} {
		second.env[name] = first.env[name]
	}
	second.must(t, "pull", "lab/tiny")
	if n := hub.bodies(); n != 0 {
		t.Errorf("the second pull fetched %d files, want 0", n)
	}
	second.must(t, "models", "remove", "--yes", "lab/tiny")
	if _, err := os.Stat(filepath.Join(first.env["HF_HUB_CACHE"], "models--lab--tiny", "snapshots",
		hubCommit, "config.json")); err != nil {
		t.Errorf("a foreign download was deleted: %v", err)
	}
}

// A drafter is downloaded like a model, but is not registered as one. It drafts for a model by its
// name, and is removed like a model.
func TestPulledDrafterDraftsForItsModel(t *testing.T) {
	hub := &fakeHub{dir: enginetest.TinyDrafter(t, nil)}
	server := httptest.NewServer(hub)
	defer server.Close()
	c := newConsole(t, newHome(t))
	c.env["HF_ENDPOINT"], c.env["HF_TOKEN"] = server.URL, hubToken
	if out := c.must(t, "pull", "lab/tiny"); out != "lab/tiny\n" ||
		!strings.Contains(c.stderr, "lab/tiny is a drafter") {
		t.Errorf("the pull prints %q and %q, want lab/tiny as a drafter", out, c.stderr)
	}
	if out := c.must(t, "models", "list"); strings.Contains(out, "lab/tiny") {
		t.Errorf("the drafter is registered as a model:\n%s", out)
	}
	c.must(t, "models", "add", "--id", "m", tinyModel(t, "other", nil))
	if out := c.must(t, "models", "drafter", "m", "lab/tiny"); !strings.Contains(out,
		"models--lab--tiny") {
		t.Errorf("models drafter prints %s, want the folder of the drafter", out)
	}
	snapshot := filepath.Join(c.env["HF_HUB_CACHE"], "models--lab--tiny", "snapshots", hubCommit)
	if _, err := os.Stat(snapshot); err != nil {
		t.Fatal(err)
	}
	c.must(t, "models", "remove", "--yes", "lab/tiny")
	if _, err := os.Stat(snapshot); !os.IsNotExist(err) {
		t.Errorf("the drafter's snapshot is there after the removal: %v", err)
	}
	if code := c.tandem(t.Context(), "models", "remove", "--yes", "lab/tiny"); code != 1 ||
		!strings.Contains(c.stderr, "not installed") {
		t.Errorf("a second removal: exit %d: %s", code, c.stderr)
	}
}

// What no environment would mend is refused without a word about the environment.
func TestPullBlamesNoEnvironmentForAModel(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", map[string]any{"model_type": "strange"})}
	server := httptest.NewServer(hub)
	defer server.Close()
	t.Setenv("HF_ENDPOINT", server.URL) // for the process
	t.Setenv("HF_TOKEN", hubToken)
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	c := newConsole(t, home)
	check := func(name, want string, blames bool) {
		t.Helper()
		if code := c.tandem(t.Context(), "pull", name); code != 1 || !strings.Contains(c.stderr, want) ||
			strings.Contains(c.stderr, "its own HF_ variables") != blames {
			t.Errorf("pull %s: exit %d, %q", name, code, c.stderr)
		}
	}
	check("lab/tiny", `model_type "strange" in config.json is not supported`, false)
	must(t, os.Rename(filepath.Join(hub.dir, "model.safetensors"),
		filepath.Join(hub.dir, "pytorch_model.bin")))
	check("lab/tiny", "holds pickled weights only", false)
	check("lab/other", "lab/other", true)
}
