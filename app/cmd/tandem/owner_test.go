package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
)

const nextCommit = "fedcba9876543210fedcba9876543210fedcba98"

// An owned is a console with a home and a cache of its own, and the hub that it pulls from.
type owned struct {
	*console
	hub *fakeHub
}

// newOwned returns a console that pulls from a new hub. The hub is closed with the test.
func newOwned(t *testing.T) *owned {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil)}
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	c := newConsole(t, newHome(t))
	c.env["HF_ENDPOINT"], c.env["HF_TOKEN"] = server.URL, hubToken
	return &owned{c, hub}
}

// another returns a console that acts as another program with the same cache. Tandem does not own
// the files that it pulls.
func (o *owned) another(t *testing.T) *console {
	c := newConsole(t, newHome(t))
	for _, name := range []string{"HF_ENDPOINT", "HF_TOKEN", "HF_HUB_CACHE"} {
		c.env[name] = o.env[name]
	}
	return c
}

// snapshot returns the folder of a commit in the cache.
func (o *owned) snapshot(commit string) string {
	return filepath.Join(o.env["HF_HUB_CACHE"], "models--lab--tiny", "snapshots", commit)
}

func (o *owned) models(t *testing.T) []control.Model {
	return lines[control.Model](t, o.must(t, "models", "list", "--json"))
}

// onDisk reports whether a snapshot has its config.json.
func onDisk(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "config.json"))
	return err == nil
}

// next gives the hub a new commit in which one file has changed.
func (o *owned) next(t *testing.T) {
	name := filepath.Join(o.hub.dir, "generation_config.json")
	if err := os.WriteFile(name, []byte(`{"temperature": 0.5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o.hub.commit = nextCommit
}

// A pulled model gets another id if the hub's id is taken. It is updated and deleted under that id.
func TestModelPulledUnderAnotherIDIsUpdatedAndRemoved(t *testing.T) {
	o := newOwned(t)
	o.must(t, "models", "add", "--id", "lab/tiny", tinyModel(t, "other", nil))
	if out := o.must(t, "pull", "lab/tiny"); out != "lab/tiny-2\n" {
		t.Fatalf("the model is pulled as %q, want lab/tiny-2", out)
	}
	o.next(t)
	if out := o.must(t, "pull", "lab/tiny"); out != "lab/tiny-2\n" ||
		onDisk(o.snapshot(hubCommit)) {
		t.Errorf("the model is updated as %q, want lab/tiny-2; the earlier snapshot is on disk: %t",
			out, onDisk(o.snapshot(hubCommit)))
	}
	o.must(t, "models", "remove", "--yes", "lab/tiny-2")
	if left, _ := os.ReadDir(o.env["HF_HUB_CACHE"]); slices.ContainsFunc(left,
		func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "models--") }) {
		t.Errorf("the removed model is still on disk: %v", left)
	}
	if n := len(o.models(t)); n != 2 { // lab/tiny and the pocket model
		t.Errorf("%d models are registered, want 2", n)
	}
	o.must(t, "models", "remove", "--yes", "lab/tiny")
}

// Tandem deletes only snapshots that it downloaded.
func TestOnlyOwnSnapshotsAreDeleted(t *testing.T) {
	o := newOwned(t)
	o.must(t, "pull", "lab/tiny")
	o.next(t)
	o.another(t).must(t, "pull", "lab/tiny")
	o.hub.bodies()
	o.must(t, "pull", "lab/tiny") // the other program has fetched it
	list := o.models(t)
	i := slices.IndexFunc(list, func(m control.Model) bool { return m.ID == "lab/tiny" })
	if i < 0 || list[i].Path != o.snapshot(nextCommit) || list[i].DownloadedByUs ||
		o.hub.bodies() != 0 {
		t.Errorf("the models are %+v, want lab/tiny at the other program's snapshot", list)
	}
	if onDisk(o.snapshot(hubCommit)) {
		t.Error("Tandem's earlier snapshot is still on disk, though no model uses it")
	}
	o.must(t, "models", "remove", "--yes", "lab/tiny")
	if !onDisk(o.snapshot(nextCommit)) {
		t.Error("a snapshot that another program fetched was deleted")
	}
}

// Files that are gone already are listed as gone, and the removal succeeds.
func TestRemovalOfMissingFilesSucceeds(t *testing.T) {
	o := newOwned(t)
	o.must(t, "pull", "lab/tiny")
	if out := o.must(t, "models"); strings.Contains(out, "gone") {
		t.Errorf("a model on disk is listed as gone:\n%s", out)
	}
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(o.snapshot(hubCommit)))); err != nil {
		t.Fatal(err)
	}
	if out := o.must(t, "models"); !regexp.MustCompile(`(?m)^lab/tiny .* hub, gone `).MatchString(out) ||
		strings.Count(out, "gone") != 1 {
		t.Errorf("the list is\n%swant lab/tiny alone as gone", out)
	}
	if !strings.Contains(o.stderr, "tandem: The model lab/tiny is no longer at ") ||
		!strings.Contains(o.stderr, "download it again, or remove it from the list") {
		t.Errorf("of the model that is gone it says %q", o.stderr)
	}
	o.must(t, "models", "remove", "--yes", "lab/tiny")
}

// A model is not removed while a request uses it. The answer says what the removal means for later
// requests.
func TestModelInUseIsNotRemoved(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", endless(t))
	defer p.stop(t)
	body := generating(t, p, control.Alias)
	c := newConsole(t, home)
	if code := c.tandem(t.Context(), "models", "remove", "--yes", "endless"); code != 1 ||
		!strings.Contains(c.stderr, "endless is answering requests") {
		t.Errorf("a removal during a request: exit %d, %s", code, c.stderr)
	}
	if out := c.must(t, "runs"); !regexp.MustCompile(`\n1 .* endless +- +running +/v1/completions .* running\n$`).MatchString(out) {
		t.Errorf("the runs are\n%swant one that is running", out)
	}
	body.Close()
	waitState(t, client(t, home), func(s control.State) bool { return len(s.Active) == 0 })
	c.must(t, "models", "remove", "--yes", "endless")
	want := "tandem: endless was in memory and has been unloaded\ntandem: endless was the current model; requests for tandem now get pocket\n"
	if c.stderr != want {
		t.Errorf("standard error %q, want %q", c.stderr, want)
	}
	if status, body := p.post(t, "/v1/completions", "application/json",
		`{"model":"tandem","prompt":"func","max_tokens":1}`); status != http.StatusOK ||
		!strings.Contains(body, `"model":"pocket"`) {
		t.Errorf("a request after the removal: %d %s, want an answer of pocket", status, body)
	}
}

// A removal succeeds even if the server ends right after it.
func TestRemovalSucceedsIfTheServerEnds(t *testing.T) {
	home := newHome(t)
	l, err := control.Listen(home)
	must(t, err)
	removed := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodDelete:
			removed = true
			fmt.Fprint(w, "{}")
		case removed:
			w.WriteHeader(http.StatusInternalServerError)
		default:
			fmt.Fprint(w, `{"phase":"ready","choice":"x"}`)
		}
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()
	c := newConsole(t, home)
	c.must(t, "models", "remove", "--yes", "x")
	if want := "tandem: x was the current model; requests for tandem now get another\n"; c.stderr != want ||
		!removed {
		t.Errorf("removed %t, standard error %q, want %q", removed, c.stderr, want)
	}
}

// A folder that proves to be no model leaves no row. One that was registered before stays
// registered.
func TestUnusableFolderLeavesNoRow(t *testing.T) {
	dir := tinyModel(t, "broken", nil)
	must(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte("{"), 0o600))
	c := newConsole(t, newHome(t))
	for _, args := range [][]string{{"run", "--model", dir, "x"}, {"models", "add", dir}} {
		if code := c.tandem(t.Context(), args...); code != 1 ||
			strings.Count(c.stderr, "\n") != 1 || !strings.Contains(c.stderr, "tokenizer.json") {
			t.Errorf("%q: exit %d, %s", args, code, c.stderr)
		}
		list := lines[control.Model](t, c.must(t, "models", "list", "--json"))
		if len(list) != 1 { // the pocket model
			t.Errorf("%q: the registry has %d rows: %+v", args, len(list), list)
		}
	}
}

// A tokenizer that takes too long on a text fails the request. Its model stays registered.
func TestTextBeyondTheTokenizersLimitKeepsTheModel(t *testing.T) {
	dir := tinyModel(t, "slow", nil)
	b, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	must(t, err)
	var file map[string]any
	must(t, json.Unmarshal(b, &file))
	file["pre_tokenizer"] = map[string]any{"type": "Sequence", "pretokenizers": []any{
		map[string]any{"type": "Split",
			"pattern":  map[string]any{"Regex": strings.Repeat("(?:aa|a)", 50) + "c"},
			"behavior": "Isolated", "invert": false},
		file["pre_tokenizer"],
	}}
	b, err = json.Marshal(file)
	must(t, err)
	write(t, dir, "tokenizer.json", string(b))
	c := newConsole(t, newHome(t))
	if code := c.tandem(t.Context(), "run", "--raw", "--model", dir,
		strings.Repeat("a", 75)); code != 1 ||
		!strings.Contains(c.stderr, "takes too long on this text") {
		t.Errorf("exit %d, %s", code, c.stderr)
	}
	if out := c.must(t, "models", "list"); !strings.Contains(out, "\nslow ") {
		t.Errorf("the model is no longer registered:\n%s", out)
	}
}

// A bare name is an id. If a folder has that name, the error says how to write the path.
func TestBareNameOfAFolderIsExplained(t *testing.T) {
	c := newConsole(t, newHome(t))
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("mine", 0o700))
	must(t, os.WriteFile("file", nil, 0o600))
	for _, args := range [][]string{{"run", "x"}, {"serve", "--addr", "127.0.0.1:0"}} {
		for name, want := range map[string]string{"mine": "write ./mine for that one. ",
			"other": "No folder here has that name either. ",
			"file":  "file is a file, and a model is a folder or a GGUF file. "} {
			code := c.tandem(t.Context(), append(args, "--model", name)...)
			if code != 1 || !strings.HasSuffix(c.stderr, want+control.ToInstall+"\n") ||
				!strings.Contains(c.stderr, `"`+name+`" is not installed`) {
				t.Errorf("%v --model %s: exit %d, %s", args, name, code, c.stderr)
			}
		}
	}
}
