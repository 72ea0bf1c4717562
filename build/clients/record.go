package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tandem/build/setup"
)

// A testedClient is a row of the table of clients in README.md.
type testedClient struct {
	name string // as in the table of features
	file string // that pins it, below build/clients
	pin  string // its name there
}

var testedClients = []testedClient{
	{"Claude Code", "node/package.json", "@anthropic-ai/claude-code"},
	{"Codex CLI", "node/package.json", "@openai/codex"},
	{"OpenCode", "node/package.json", "opencode-linux-x64"},
	{"Cline CLI", "node/package.json", "@cline/cli-linux-x64"},
	{"Continue CLI", "node/package.json", "@continuedev/cli"},
	{"Aider", "aider.txt", "aider-chat"},
	{"openai, Python", "requirements.txt", "openai"},
	{"openai, Node", "node/package.json", "openai"},
	{"anthropic, Python", "requirements.txt", "anthropic"},
	{"anthropic, Node", "node/package.json", "@anthropic-ai/sdk"},
	{"ollama, Python", "requirements.txt", "ollama"},
}

// pinned returns the version of a client in the folder root.
func (c testedClient) pinned(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, clientsDir, filepath.FromSlash(c.file)))
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(c.file, ".json") {
		var p struct{ Dependencies, OptionalDependencies map[string]string }
		if err := json.Unmarshal(text, &p); err != nil {
			return "", fmt.Errorf("%s: %w", c.file, err)
		}
		if v := p.Dependencies[c.pin] + p.OptionalDependencies[c.pin]; v != "" {
			return v, nil
		}
	} else if m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(c.pin) + `==(\S+)`).FindSubmatch(text); m != nil {
		return string(m[1]), nil
	}
	return "", fmt.Errorf("%s does not pin %s", c.file, c.pin)
}

// head begins the table in README.md. A date follows.
const head = "| client | version | tested "

// record writes the table of clients into README.md: what f holds, today.
func (f *featureTable) record(b *setup.Builder) error {
	var table strings.Builder
	fmt.Fprintf(&table, "%s%s |\n| --- | --- | --- |\n", head, time.Now().UTC().Format(time.DateOnly))
	for _, c := range testedClients {
		version, err := c.pinned(b.Root)
		if err != nil {
			return err
		}
		var works []string
		for _, feature := range f.features {
			if f.works[[2]string{c.name, feature}] {
				works = append(works, feature)
			}
		}
		tested := strings.Join(works, "; ")
		if len(works) == 0 {
			return fmt.Errorf("nothing was tested with %s", c.name)
		} else if len(works) > 3 {
			tested = fmt.Sprintf("%d features", len(works))
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", c.name, version, tested)
	}
	path := filepath.Join(b.Root, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), head)
	_, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		return errors.New("README.md has no table of clients")
	}
	return os.WriteFile(path, []byte(before+table.String()+"\n"+after), 0o644)
}

// CheckReadme returns an error unless the table of clients in README.md has the versions that are
// pinned now.
func CheckReadme(b *setup.Builder) error {
	text, err := os.ReadFile(filepath.Join(b.Root, "README.md"))
	if err != nil {
		return err
	}
	_, table, _ := strings.Cut(string(text), head)
	table, _, _ = strings.Cut(table, "\n\n")
	date, rows, _ := strings.Cut(table, " |\n")
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return errors.New("README.md has no table of clients with a date")
	}
	for _, c := range testedClients {
		version, err := c.pinned(b.Root)
		if err != nil {
			return err
		}
		if !strings.Contains(rows, fmt.Sprintf("\n| %s | %s | ", c.name, version)) {
			return fmt.Errorf("README.md does not say that %s %s was tested; run go run ./build test --record clients",
				c.name, version)
		}
	}
	return nil
}
