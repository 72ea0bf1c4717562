package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// The program in a Mac's bundle serves the starter that lies beside its folder, from the first start
// on. It serves pocket if that file is damaged, and says why.
func TestProgramInABundleServesTheStarterBesideIt(t *testing.T) {
	resources := filepath.Join(t.TempDir(), "Tandem.app", "Contents", "Resources")
	program := filepath.Join(resources, "bin", "tandem")
	starter := filepath.Join(resources, "models", "starter.gguf")
	for _, path := range []string{program, starter} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, program) != nil { // another disk
		text, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(program, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
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
			[]string{"Serving starter.", "135M parameters: it answers at once, and is often wrong"}},
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
		st, err := client(t, home).State(t.Context())
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
