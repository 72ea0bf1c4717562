package main

import (
	"os"
	"strings"
	"testing"

	"tandem/app/control"
)

// A model whose layers cannot be bounded is refused with what to do. A command that tries bounded layers
// stands below, unless that very command failed. A model that fails otherwise gets the usual advice.
func TestRefusedBoundedLayersNameAModelThatHasThem(t *testing.T) {
	const try, list = "`tandem serve --model retrieval --kv-layout bounded`", "`tandem models` lists them"
	gone := tinyModel(t, "gone", nil)
	home := newHome(t)
	p := serveProcess(t, home, "--model", gone)
	waitState(t, client(t, home), func(s control.State) bool { return s.Phase == control.PhaseReady })
	p.stop(t)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model       string
		flags       []string
		says, lacks []string
	}{
		{"pocket", nil, []string{try}, []string{list}},
		{"retrieval", []string{"--f-theta", t.TempDir()}, []string{"f_theta_config.json is missing"},
			[]string{list, try}},
		{"gone", nil, []string{list, "is no longer at"}, []string{try, "leave out --kv-layout"}},
	} {
		p := serveProcess(t, home, append([]string{"--model", c.model, "--kv-layout", "bounded"}, c.flags...)...)
		waitState(t, client(t, home), func(s control.State) bool { return s.Phase == control.PhaseFailed })
		p.stop(t)
		text := p.stderr.String()
		if c.model != "gone" {
			c.says = append(c.says, "leave out --kv-layout bounded.\nUntil it can, ")
		}
		for _, want := range c.says {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s: %q is not there once: %s", c.model, want, text)
			}
		}
		for _, not := range append(c.lacks, "..") {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q is there: %s", c.model, not, text)
			}
		}
	}
}
