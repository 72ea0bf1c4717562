package control

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestClientsHaveTheNamesThatPeopleKnow(t *testing.T) {
	for agent, want := range map[string]string{
		"claude-cli/2.1": "Claude Code", "codex_cli_rs/0.9": "Codex", "Zed/1.2 (macos)": "Zed",
		"AsyncOpenAI/Python 1.9": "Python", "ls/JS 5.20.1": "Node", "Tandem": "Playground", "tandem": "Command line", "tandem-bench": "tandem-bench",
		"MyTool/3": "MyTool", "": "Unnamed client", "phone": "phone",
	} {
		if got := ClientName(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}

// The window and the menu call each program by the same name.
func TestClientsHaveTheNamesOfTheWindow(t *testing.T) {
	text, err := os.ReadFile("../../frontend/src/parts/clients.ts")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`\[/(.+)/(i?), \{ name: '([^']+)'`)
	var want, got [][2]string
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		begins := m[1]
		if m[2] != "" {
			begins = "(?i)" + begins
		}
		want = append(want, [2]string{begins, m[3]})
	}
	for _, c := range clientNames {
		got = append(got, [2]string{c.begins.String(), c.name})
	}
	if !slices.Equal(got, want) {
		t.Errorf("the names are\n%q, in the window\n%q", got, want)
	}
}
