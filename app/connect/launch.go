package connect

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"tandem/app/control"
)

// KeyVariable has the key in the environment of a program, and of `tandem launch`.
const KeyVariable = "TANDEM_API_KEY"

// An Endpoint is what a client needs to know about the endpoint.
type Endpoint struct {
	BaseURL string // with /v1
	Key     string // control.Alias where any key will do
	Model   string // an id, or control.Alias for the current model
	Context int    // tokens; 0 = unknown
}

// root is the base URL without /v1.
func (e Endpoint) root() string { return strings.TrimSuffix(e.BaseURL, "/v1") }

func (e Endpoint) needsKey() bool { return e.Key != control.Alias }

// tokens returns the context in words.
func (e Endpoint) tokens() string {
	if e.Context == 0 {
		return "the model's"
	}
	return fmt.Sprint(e.Context)
}

func (e Endpoint) contextOr(usual int) int {
	if e.Context > 0 {
		return e.Context
	}
	return usual
}

// A Program is a client of the page, for `tandem launch`.
type Program struct {
	ID, Name string
	Context  int    // tokens that it needs; 0 = it takes what there is
	Install  string // its vendor's line that installs it

	// Command returns how to start it with files in dir. It is nil if the program cannot be told of the
	// endpoint for one run.
	Command func(e Endpoint, dir string) Command
}

// Programs returns the clients in the order of the page.
func Programs() (list []Program) {
	for _, c := range clients() {
		list = append(list, Program{c.id, c.name, c.context, c.install, c.command})
	}
	return list
}

// Binary returns the name by which a shell finds the program.
func (p Program) Binary() string { return p.Command(Endpoint{}, "").Args[0] }

// A Command starts a program that uses the endpoint, and leaves the user's own settings as they are.
type Command struct {
	File, Text string   // a path, and what has to be in it; empty without a file
	Unset      []string // variables that the program must not have
	Env        []string // NAME=value
	Before     []string // a command that has to run before, or nil
	Args       []string // the program first
	Default    []string // arguments where the user gives none
}

// With returns the command with arguments of the user's.
func (c Command) With(args []string) Command {
	if len(args) == 0 {
		args = c.Default
	}
	c.Args = append(c.Args[:len(c.Args):len(c.Args)], args...)
	c.Default = nil
	return c
}

// Script returns the lines that do the same in a shell.
func (c Command) Script() string {
	var b strings.Builder
	if c.File != "" {
		fmt.Fprintf(&b, "mkdir -p %s\ncat >%s <<'END'\n%sEND\n", word(filepath.Dir(c.File)), word(c.File), c.Text)
	}
	for _, name := range c.Unset {
		fmt.Fprintf(&b, "unset %s\n", name)
	}
	for _, v := range c.Env {
		fmt.Fprintf(&b, "export %s\n", assignment(v))
	}
	if c.Before != nil {
		fmt.Fprintln(&b, words(c.Before))
	}
	fmt.Fprintln(&b, words(append(c.Args[:len(c.Args):len(c.Args)], c.Default...)))
	return b.String()
}

// line returns the command in one line of a shell, for a file that is there.
func (c Command) line() string {
	var list []string
	for _, v := range c.Env {
		list = append(list, assignment(v))
	}
	return strings.Join(append(list, words(c.Args)), " ")
}

func assignment(v string) string {
	name, value, _ := strings.Cut(v, "=")
	return name + "=" + word(value)
}

func words(args []string) string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = word(a)
	}
	return strings.Join(list, " ")
}

// word returns a text as one word of a shell.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return quoted(text)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]+$`)

// quoted returns a text in quotes, as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
