package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// sgr matches a style.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// On a terminal of 80 columns every verb that lists or shows fits, whatever ids and titles are there. runs
// says who asked what, and checkpoints what their texts are about.
func TestListsFitATerminal(t *testing.T) {
	const name, prompt = "a-long-name-of-a-model-that-has-no-room-in-a-table-of-eighty-columns", "What was said first."
	home, dir := newHome(t), tinyModel(t, name, nil)
	scriptedServer(t, home, `[{"when": "", "say": "An answer."}]`)
	c := newConsole(t, home)
	c.must(t, "use", dir)
	c.must(t, "run", "--raw", prompt)
	c.must(t, "keys", "add", strings.Repeat("phone", 10))
	for verb, want := range map[string]string{
		"list": `\x1b\[1m…`, "ps": "idle", "status": "address", "runs": `Command line +What was s.* …[a-z-]+ .* ms +[a-z]+`,
		"runs show": "just now by Command line", "keys": "just now", "settings": "default", "models found": "no models",
		"logs": "INFO", "doctor": "✓", "show " + name: "architecture", "models drafter " + name: "MEASURED",
		"checkpoints": "What was said", "checkpoints texts": "just now",
	} {
		p := sit(t, home, nil, strings.Fields(verb)...)
		p.Wait() // doctor may find something
		<-p.whole
		got := strings.ReplaceAll(p.shown.String(), "\r\n", "\n")
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("tandem %s shows\n%s\nwant %s", verb, got, want)
		}
		for line := range strings.Lines(sgr.ReplaceAllString(got, "")) {
			// A sentence on standard error is the terminal's to break. A path or an id is one word.
			word := strings.Contains(line, "/") || strings.Contains(line, name)
			if width := uniseg.StringWidth(strings.TrimRight(line, "\n")); width > 80 && !word && !strings.HasPrefix(line, "tandem: ") {
				t.Errorf("tandem %s has a line of %d columns: %s", verb, width, line)
			}
		}
	}
}
