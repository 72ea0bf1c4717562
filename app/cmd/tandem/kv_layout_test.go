package main

import (
	"strings"
	"testing"

	"tandem/app/control"
)

// A model that cannot be served with bounded layers is refused with a command that tries them, and not
// with another model that cannot be either.
func TestRefusedBoundedLayersNameAModelThatHasThem(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", "pocket", "--kv-layout", "bounded")
	waitState(t, client(t, home), func(s control.State) bool { return s.Phase == control.PhaseFailed })
	p.stop(t)
	text := p.stderr.String()
	if !strings.Contains(text, "`tandem serve --model retrieval --kv-layout bounded`") ||
		!strings.Contains(text, "leave out --kv-layout bounded") ||
		strings.Contains(text, "tandem models` lists them") {
		t.Error(text)
	}
}
