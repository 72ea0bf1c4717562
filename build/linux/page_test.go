package linux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStepsAreTheBlocksOfAPage(t *testing.T) {
	steps := readSteps("P.md", strings.Join([]string{
		"Install it:", "", "```sh", "sh install.sh", "tandem --version", "```", "",
		"```text", "tandem 0.1.0", "```", "", "In a terminal:", "",
		"    tandem serve   # leave it open", "    tandem list", "    tandem ps", "",
		"    curl http://127.0.0.1 \\", "      -d x", "", "```python", "import openai", "```", "",
		"```sh", "tandem chat", "```", "```text", ">>> Hello", "Hi!", ">>> Bye", "```", ""}, "\n"))
	want := []step{
		{at: "P.md:4", commands: "sh install.sh\ntandem --version\n", prints: "tandem 0.1.0\n"},
		{at: "P.md:14", commands: "tandem serve   # leave it open\n"},
		{at: "P.md:15", commands: "tandem list\ntandem ps\n"},
		{at: "P.md:18", commands: "curl http://127.0.0.1 \\\n  -d x\n", lacks: "curl"},
		{at: "P.md:22", commands: "import openai\n", lacks: "python"},
		{at: "P.md:26", commands: "tandem chat\n", prints: ">>> Hello\nHi!\n>>> Bye\n"},
	}
	if !slices.Equal(steps, want) {
		t.Errorf("the page has the steps\n%+v, want\n%+v", steps, want)
	}
	for i, want := range map[int]string{
		0: "run P.md:4 <<'END OF STEP'\nsh install.sh\ntandem --version\nEND OF STEP\n",
		1: "serve P.md:14 <<'END OF STEP'\ntandem serve   # leave it open\nEND OF STEP\n",
		5: "chat P.md:26 <<'END OF STEP'\nHello\nBye\nEND OF STEP\n",
	} {
		if got := steps[i].script(); got != want {
			t.Errorf("step %d is the call %q, want %q", i, got, want)
		}
	}
}

func TestAPageShowsWhatATerminalShows(t *testing.T) {
	const terminal = "\x1b[2mloading 10 %\r\x1b[Kloading 90 %\r\x1b[K\x1b[0mParis.\r\n" +
		"\x1b[2m8 tokens,  12.5 per second; 0 of 37 restored\x1b[0m\r\n\r\nServing it. In an editor:\r\nany API key.\r\nbye\r\n"
	for _, x := range []struct {
		prints string
		ok     bool
	}{
		{"", true}, {"Paris.\n", true}, {"Paris.\nbye\n", true}, {"bye\nParis.\n", false}, {"Paris\n", false},
		{"9 tokens, 7 per second; 0 of 2,731 restored\n", true}, {"8 tokens, 12.5 per second; 36 of 37 restored\n", false},
		{"loading 90 %\n", false}, {"Paris.\nParis.\n", false},
		{"Serving it. In an editor: any API key.\n", true}, {"an editor: any API key.\nServing it.\n", false},
		{"Serving it. In an editor: any API\n", true}, {"ving it.\n", false},
	} {
		if err := (step{prints: x.prints}).check(terminal); (err == nil) != x.ok {
			t.Errorf("%q: %v", x.prints, err)
		}
	}
}

// TestPagesLeaveLittleOut reads the pages that the walk reads. Each word for which a block is left out
// is on one of them.
func TestPagesLeaveLittleOut(t *testing.T) {
	began := map[string]bool{}
	done, left := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range readSteps(page, string(text)) {
			if s.lacks == "" {
				done++
				continue
			}
			left++
			for words := range lacking {
				began[words] = began[words] || strings.HasPrefix(s.commands, words)
			}
		}
	}
	for words := range lacking {
		if !began[words] {
			t.Errorf("no block begins with %q", words)
		}
	}
	if done < 15 || left > 5 {
		t.Errorf("the walk does %d steps and leaves %d out", done, left)
	}
}
