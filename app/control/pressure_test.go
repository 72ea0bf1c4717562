package control

import (
	"strings"
	"testing"
	"time"
)

// A shortage of memory is told with its time and what was freed, and nothing that did not happen.
func TestShortageOfMemoryIsTold(t *testing.T) {
	since := time.Date(2026, 11, 27, 14, 3, 0, 0, time.Local)
	for _, c := range []struct {
		of   Pressure
		text string
		line string
	}{
		{Pressure{}, "Tandem has nothing idle to free.", "Short of memory since 14:03"},
		{Pressure{Unloaded: []string{"org/a"}, FreedBytes: 6 << 30},
			"Tandem unloaded org/a (6 GiB). The next request loads it again.",
			"Short of memory since 14:03: unloaded org/a"},
		{Pressure{Unloaded: []string{"a", "b", "c"}, CheckpointBytes: 90 << 20},
			"Tandem unloaded a, b and c. The next request loads them again. " +
				"Tandem took 90 MiB of checkpoints out of memory. What is on disk stays.",
			"Short of memory since 14:03: unloaded 3 models"},
		{Pressure{CheckpointBytes: 3 << 29},
			"Tandem took 1.5 GiB of checkpoints out of memory. What is on disk stays.",
			"Short of memory since 14:03: freed 1.5 GiB"},
	} {
		c.of.Since = since
		want := "This machine has been short of memory since 14:03. " + c.text
		if got := c.of.Told(); got.Text != want || got.Unloaded == nil {
			t.Errorf("%q, want %q", got.Text, want)
		}
		if got := c.of.Line(); got != c.line || strings.Contains(got, "  ") {
			t.Errorf("%q, want %q", got, c.line)
		}
	}
}
