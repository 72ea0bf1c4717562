package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tandem/app/control"
	"tandem/app/home"
)

// /v1/models names the context length of --context, and longer prompts are refused.
func TestServeKeepsToItsContext(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", tinyModel(t, "tiny", nil), "--context", "256")
	defer p.stop(t)
	waitState(t, client(t, home),
		func(s control.State) bool { return s.Phase == control.PhaseReady })
	resp, err := http.Get(p.url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID            string
			ContextLength int `json:"context_length"`
			MaxModelLen   int `json:"max_model_len"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{} // with the context length
	for _, m := range list.Data {
		listed[m.ID] = m.ContextLength == 256 && m.MaxModelLen == 256
	}
	if !listed[control.Alias] || !listed["tiny"] {
		t.Errorf("/v1/models has %+v, want %s and tiny with 256 tokens", list.Data, control.Alias)
	}
	for _, c := range []struct{ prompt, status, tokens int }{
		{252, http.StatusOK, 4}, // as many as the context leaves
		{257, http.StatusBadRequest, 0},
	} {
		status, body := p.post(t, "/v1/completions", "application/json",
			fmt.Sprintf(`{"model":"tandem","prompt":%q,"temperature":0,"ignore_eos":true}`,
				strings.Repeat("a", c.prompt)))
		if status != c.status {
			t.Errorf("%d tokens: status %d, want %d: %s", c.prompt, status, c.status, body)
		} else if status != http.StatusOK {
			checkError(t, body, "256 tokens", "257 tokens")
		} else if want := fmt.Sprintf(`"completion_tokens":%d,`, c.tokens); !strings.Contains(body,
			want) {
			t.Errorf("%d tokens: no %s in %s", c.prompt, want, body)
		}
	}
}

// A context beyond the model's own is no error. Standard error names the length that is served.
func TestServeCutsAContextBeyondTheModels(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", tinyModel(t, "tiny", nil), "--context", "5000")
	s := waitState(t, client(t, home),
		func(s control.State) bool { return s.Phase == control.PhaseReady })
	const why = "--context asks for 5,000 tokens, and the model was made for 4,096"
	if s.ContextLimit != 5000 || s.Loaded.ContextLength != 4096 || s.Loaded.ShortContext != why {
		t.Errorf("the state is %+v, %+v, want the limit 5000, a context of 4096 and %s", s, s.Loaded,
			why)
	}
	if out := newConsole(t, home).must(t, "models"); !strings.Contains(out, "4096 (not 5000)") {
		t.Errorf("the list of models lacks what was asked for: %s", out)
	}
	p.stop(t)
	if want := "tandem: the context is 4,096 tokens: " + why + ".\n"; !strings.Contains(
		p.stderr.String(), want) {
		t.Errorf("standard error lacks %q: %s", want, p.stderr)
	}
	if want := "shorter than the one asked for\" model=tiny asked=5000 served=4096\n"; !strings.Contains(p.stderr.String(),
		want) {
		t.Errorf("standard error lacks %q: %s", want, p.stderr)
	}
}

// Text that is no UTF-8 is refused before anything is started or sent, whatever its source.
func TestRunRefusesPromptsThatAreNoText(t *testing.T) {
	home := filepath.Join(newHome(t), "home")
	c := newConsole(t, home)
	for _, args := range [][]string{{"a\xffb"}, {"--raw", "-"}, {"-"}} {
		c.stdin = "func \xc3("
		if code := c.tandem(t.Context(), append([]string{"run", "--max-tokens", "1"},
			args...)...); code != 1 || c.stdout != "" ||
			!strings.Contains(c.stderr, "not valid UTF-8") {
			t.Errorf("%q: exit %d, %q %q", args, code, c.stdout, c.stderr)
		}
	}
	c.stdin = strings.Repeat("a", maxPrompt+1)
	if code := c.tandem(t.Context(), "run", "-"); code != 1 || c.stdout != "" ||
		!strings.Contains(c.stderr, "larger than") {
		t.Errorf("a large prompt: exit %d, %q %q", code, c.stdout, c.stderr)
	}
	if entries, _ := filepath.Glob(home); len(entries) > 0 {
		t.Error("the refused command made a home folder")
	}
}

// The doctor reports a server that fails or that warns.
func TestDoctorReportsAFailingServer(t *testing.T) {
	home := newHome(t)
	l, err := control.Listen(home)
	if err != nil {
		t.Fatal(err)
	}
	var warns atomic.Bool
	broken := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if warns.Load() {
			fmt.Fprint(w, `{"address":"http://127.0.0.1:8263","warning":"the disk is full"}`)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":{"message":"It broke.","type":"server_error","code":"internal_error"}}`)
	}))
	broken.Listener.Close()
	broken.Listener = l
	broken.Start()
	defer broken.Close()
	c := newConsole(t, home)
	if code := c.tandem(t.Context(), "doctor"); code != 1 ||
		!strings.Contains(c.stdout, "It broke.") || strings.Contains(c.stdout, "not running") {
		t.Errorf("a failing server: exit %d, want 1 and its error: %s", code, c.stdout)
	}
	warns.Store(true)
	if code := c.tandem(t.Context(), "doctor"); code != 1 ||
		!strings.Contains(c.stdout, "answers, but the disk is full") {
		t.Errorf("a server with a warning: exit %d, want 1 and the warning: %s", code, c.stdout)
	}
}

// The doctor examines the model that was chosen last, with or without a process. It makes no home
// folder.
func TestDoctorExaminesTheLastChoice(t *testing.T) {
	home := newHome(t)
	dir := tinyModel(t, "tiny", nil)
	c := newConsole(t, home)
	check := func(code int, want string) {
		t.Helper()
		if got := c.tandem(t.Context(), "doctor"); got != code ||
			!strings.Contains(c.stdout, want) {
			t.Errorf("exit %d, want %d and %q:\n%s%s", got, code, want, c.stdout, c.stderr)
		}
	}
	check(0, "pocket, part of the program")
	if left, _ := filepath.Glob(filepath.Join(home, "*")); len(left) > 0 {
		t.Errorf("the doctor made %v", left)
	}
	p := serveProcess(t, home, "--model", dir)
	waitState(t, client(t, home),
		func(s control.State) bool { return s.Phase == control.PhaseReady })
	check(0, "tiny, "+dir)
	weights := filepath.Join(dir, "model.safetensors")
	must(t, os.Truncate(weights, 100))
	check(1, "✗  current model  tiny: "+dir+": model.safetensors: ")
	check(1, "; or choose another with `tandem use MODEL`\n")
	p.stop(t)
	check(1, "✗  current model  tiny: "+dir+": model.safetensors: ")
	check(1, "; or choose another with `tandem use MODEL`\n")
	must(t, os.RemoveAll(dir))
	gone := "✗  current model  tiny: The model tiny is no longer at " + dir + "; put it back, or remove " +
		"it from the list; or "
	check(1, gone+"choose another with `tandem use MODEL`\n")
	p = serveProcess(t, home)
	waitState(t, client(t, home),
		func(s control.State) bool { return s.Phase == control.PhaseFailed })
	check(1, gone+"choose another with `tandem use MODEL`\n")
	if strings.Count(c.stdout, "✗") != 1 {
		t.Errorf("one fault is told twice:\n%s", c.stdout)
	}
	c.must(t, "use", "pocket") // as it says
	check(0, "pocket, part of the program")
	p.stop(t)
	check(0, "pocket, part of the program")
}

// The doctor reports a home folder that others can read. It changes neither its mode nor any file.
func TestDoctorChangesNothing(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	c.must(t, "models", "list")
	must(t, os.Chmod(home, 0o755))
	look := func() string {
		var all strings.Builder
		must(t, filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			fmt.Fprintln(&all, path, info.Mode(), info.Size(), info.ModTime())
			return err
		}))
		return all.String()
	}
	before := look()
	if code := c.tandem(t.Context(), "doctor"); code != 1 ||
		!strings.Contains(c.stdout, "✗  home folder") ||
		!strings.Contains(c.stdout, "✓  current model  pocket") {
		t.Errorf("exit %d:\n%s%s", code, c.stdout, c.stderr)
	}
	if after := look(); after != before {
		t.Errorf("the doctor changed the home folder from\n%sto\n%s", before, after)
	}
}

// The doctor prints the report of a problem, with a process and without one.
func TestDoctorPrintsReport(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	for _, served := range []bool{false, true} {
		if served {
			serveProcess(t, home, "--model", "pocket")
		}
		out := c.must(t, "doctor", "--report")
		var d control.Diagnosis
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if d.Machine.System == "" || served == (d.State.PID == os.Getpid()) {
			t.Errorf("served %t: the report is %s", served, out)
		}
	}
}

// A process that holds the home folder and does not answer yet is no fault. The doctor names its
// pid.
func TestDoctorAcceptsAStartingServer(t *testing.T) {
	dir := newHome(t)
	h, err := home.Open(dir)
	must(t, err)
	defer h.Close()
	c := newConsole(t, dir)
	out := c.must(t, "doctor")
	if want := fmt.Sprintf("✓  server       pid %d holds the home folder and does not answer",
		os.Getpid()); !strings.Contains(out, want) || strings.Contains(out, "current model") {
		t.Errorf("the doctor says\n%swant %q and no current model", out, want)
	}
}

// The doctor makes no tables in an empty database, as a start that failed leaves one.
func TestDoctorMakesNoTables(t *testing.T) {
	home := newHome(t)
	must(t, os.WriteFile(filepath.Join(home, "tandem.db"), nil, 0o600))
	if out := newConsole(t, home).must(t, "doctor"); !strings.Contains(out,
		"✓  current model  pocket, part of the program") {
		t.Errorf("the doctor says\n%swant the first choice", out)
	}
	if files, _ := filepath.Glob(filepath.Join(home, "*")); len(files) != 1 {
		t.Errorf("the doctor made %v", files)
	}
}
