package control

import (
	"cmp"
	"regexp"
	"strings"
)

// clientNames are the programs whose User-Agent says something else than their name, as in the
// window's clients.ts.
var clientNames = []struct {
	begins *regexp.Regexp
	name   string
}{
	{regexp.MustCompile(`(?i)^claude-(cli|code)`), "Claude Code"},
	{regexp.MustCompile(`(?i)^codex`), "Codex"},
	{regexp.MustCompile(`(?i)^zed`), "Zed"},
	{regexp.MustCompile(`(?i)^continue`), "Continue"},
	{regexp.MustCompile(`(?i)^cline`), "Cline"},
	{regexp.MustCompile(`(?i)^(async)?(openai|anthropic)\/python|^python|^(aio)?httpx?\b`), "Python"},
	{regexp.MustCompile(`(?i)^\w+\/js |^node|^undici`), "Node"},
	{regexp.MustCompile(`(?i)^ollama`), "Ollama"},
	{regexp.MustCompile(`(?i)^go-http-client`), "Go"},
	{regexp.MustCompile(`(?i)^opencode`), "OpenCode"},
	{regexp.MustCompile(`(?i)^aider`), "Aider"},
	{regexp.MustCompile(`(?i)^qwen`), "Qwen Code"},
	{regexp.MustCompile(`(?i)^llm\b`), "llm"},
	{regexp.MustCompile(`(?i)^curl`), "curl"},
	{regexp.MustCompile(`^Tandem$`), "Playground"},
	{regexp.MustCompile(`^tandem$`), "Command line"},
}

// CommandLineAgent is what the command line calls itself.
const CommandLineAgent = "tandem"

// ClientName returns the name of what calls itself agent. What is not known keeps its own name, up to
// its version.
func ClientName(agent string) string {
	return cmp.Or(KnownClient(agent), Program(agent), "Unnamed client")
}

// KnownClient returns the name of the program that calls itself agent, or "" if Tandem does not know
// it.
func KnownClient(agent string) string {
	for _, c := range clientNames {
		if c.begins.MatchString(agent) {
			return c.name
		}
	}
	return ""
}

// Program returns what calls itself agent, without its version.
func Program(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	return name
}
