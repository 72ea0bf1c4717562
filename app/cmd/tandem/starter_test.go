package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
)

// The program in a Mac's bundle serves the starter that lies beside its folder, from the first start
// on. It serves pocket if that file is damaged, and says why.
func TestProgramInABundleServesTheStarterBesideIt(t *testing.T) {
	program, starter := bundle(t)
	whole, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	home := newHome(t)
	for _, c := range []struct {
		why, choice string
		data        []byte
		says        []string
	}{
		{"the first start", "starter", whole,
			[]string{"Serving starter.", "tiny starter model (135M), which is often wrong"}},
		{"half the file", "pocket", whole[:len(whole)/2],
			[]string{"Serving pocket.", "the starter model cannot be used"}},
		{"no GGUF file", "pocket", []byte("moved"),
			[]string{"Serving pocket.", "the starter model cannot be used"}},
		{"the whole file again", "starter", whole, []string{"Serving starter."}},
	} {
		if err := os.WriteFile(starter, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		p := launchProgram(t, program, home, nil, nil, "serve", "--addr", "127.0.0.1:0")
		p.readLinks(t)
		waitState(t, client(t, home),
			func(s control.State) bool { return s.Phase == control.PhaseReady })
		st, err := control.Ask(t.Context(), client(t, home), control.GetState)
		if err != nil || st.Choice != c.choice {
			t.Errorf("%s: it serves %q, %v, want %s", c.why, st.Choice, err, c.choice)
		}
		damaged := c.choice != "starter"
		if warns := strings.HasPrefix(st.Warning, "The starter model cannot be used"); warns !=
			damaged {
			t.Errorf("%s: the state warns %q", c.why, st.Warning)
		}
		p.stop(t)
		for _, want := range c.says {
			if !strings.Contains(p.stderr.String(), want) {
				t.Errorf("%s: it does not say %q:\n%s", c.why, want, p.stderr)
			}
		}
	}
}

// bundle returns the paths of the program in a Mac's bundle and of the starter beside it, which is not
// there yet.
func bundle(t *testing.T) (program, starter string) {
	t.Helper()
	resources := filepath.Join(t.TempDir(), "Tandem.app", "Contents", "Resources")
	program = filepath.Join(resources, "bin", "tandem")
	starter = filepath.Join(resources, "models", "starter.gguf")
	for _, path := range []string{program, starter} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	}
	self, err := os.Executable()
	must(t, err)
	if os.Link(self, program) != nil { // another disk
		text, err := os.ReadFile(self)
		must(t, err)
		must(t, os.WriteFile(program, text, 0o755))
	}
	return program, starter
}

// What the starter is like is said of the file beside the program, and of no other model that has its
// name.
func TestOnlyTheStarterIsCalledOne(t *testing.T) {
	program, starter := bundle(t)
	whole, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	must(t, err)
	must(t, os.WriteFile(starter, whole, 0o644))
	own := filepath.Join(t.TempDir(), "own.gguf")
	must(t, os.WriteFile(own, whole, 0o644))
	c := newConsole(t, newHome(t))
	c.must(t, "models", "add", own, "--id", "starter")
	for _, serve := range []struct {
		id   string
		args []string
		says bool
	}{{"starter-2", nil, true}, {"starter", []string{"--model", "starter"}, false}} {
		p := launchProgram(t, program, c.env["TANDEM_HOME"], nil, nil,
			append([]string{"serve", "--addr", "127.0.0.1:0"}, serve.args...)...)
		p.readLinks(t)
		waitState(t, client(t, c.env["TANDEM_HOME"]),
			func(s control.State) bool { return s.Phase == control.PhaseReady })
		said := p.stopAfter(t, "Serving "+serve.id+".")
		if strings.Contains(said, "starter model (135M)") != serve.says {
			t.Errorf("of %s it says:\n%s", serve.id, said)
		}
	}
	// where a model is gone, the one to serve in its place is the starter
	must(t, os.Remove(own))
	p := launchProgram(t, program, c.env["TANDEM_HOME"], nil, nil, "serve", "--addr", "127.0.0.1:0")
	p.readLinks(t)
	waitState(t, client(t, c.env["TANDEM_HOME"]),
		func(s control.State) bool { return s.Phase == control.PhaseFailed })
	p.stopAfter(t, "or `tandem use starter-2`")
}

// stopAfter waits for words on standard error, which may come after the state that they tell of. It stops the
// process, and returns all that it said.
func (p *process) stopAfter(t *testing.T, words string) string {
	t.Helper()
	for range 1000 {
		if strings.Contains(p.stderr.String(), words) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.stop(t)
	said := p.stderr.String()
	if !strings.Contains(said, words) {
		t.Errorf("it does not say %q:\n%s", words, said)
	}
	return said
}
