package main

import (
	"strings"
	"testing"
)

// The name that programs use means the current model to every verb of one.
func TestAliasNamesTheCurrentModel(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	c.must(t, "use", tinyModel(t, "tiny", nil))
	for line, want := range map[string]string{
		"show tandem": "model         tiny\n", "show tandem:latest": "model         tiny\n",
		"models drafter tandem": "model    tiny\n", "stop tandem": "tiny is not in memory", "models unload tandem": "tiny is not in memory",
		"rm tandem": "this would remove tiny from the list", "use tandem": "tiny is the current model",
	} {
		if c.tandem(t.Context(), strings.Fields(line)...); !strings.Contains(c.stdout+c.stderr, want) {
			t.Errorf("tandem %s: %s%s, want %q", line, c.stdout, c.stderr, want)
		}
	}
}

// The status of a model that is not in memory is in words.
func TestUnloadedModelIsToldInWords(t *testing.T) {
	home := newHome(t)
	scriptedServer(t, home, `[{"when": "", "say": "An answer."}]`)
	c := newConsole(t, home)
	c.must(t, "use", tinyModel(t, "tiny", nil))
	for _, want := range []string{", ready", ", loads on first use"} {
		if status := c.must(t, "status"); !strings.Contains(status, "tiny"+want+"\n") {
			t.Errorf("status says\n%s, want %q", status, want)
		}
		c.must(t, "stop", "tandem:latest")
	}
}
