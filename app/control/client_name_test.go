package control

import "testing"

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
