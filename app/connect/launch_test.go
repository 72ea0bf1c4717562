package connect

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the scripts of programs into testdata")

// Each program is told of the address, the model, the key and the context, as its script in testdata does it
// in a shell. Without a context it is told of none.
func TestEachProgramIsToldOfTheEndpoint(t *testing.T) {
	e := Endpoint{BaseURL: "http://127.0.0.1:9999/v1", Key: "tandem-key", Model: "org/model", Context: 65536}
	files, err := filepath.Glob("testdata/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, p := range Programs() {
		if p.Command == nil {
			if p.Install != "" {
				t.Errorf("%s is not started, and has a line that installs it", p.ID)
			}
			continue
		}
		programs++
		if p.Install == "" || p.Binary() == "" {
			t.Errorf("%s: installed by %q, started as %q", p.ID, p.Install, p.Binary())
		}
		got, file := p.Command(e, "/tmp/dir").Script(), filepath.Join("testdata", p.ID+".sh")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := readText(t, file); got != want {
			t.Errorf("%s is started by\n%s\nwant\n%s", p.ID, got, want)
		}
		for _, has := range []string{e.root(), e.Key, e.Model} {
			if !strings.Contains(got, has) {
				t.Errorf("%s is not told of %s:\n%s", p.ID, has, got)
			}
		}
		if p.ID != "cline" && !strings.Contains(got, "65536") { // its command line takes no context
			t.Errorf("%s is not told of the context:\n%s", p.ID, got)
		}
		e := e
		e.Context = 0
		unknown := strings.ToLower(p.Command(e, "/tmp/dir").Script())
		for _, word := range []string{"context", "max_tokens", "max_input"} {
			if strings.Contains(unknown, word) {
				t.Errorf("%s is told of a context that is unknown:\n%s", p.ID, unknown)
			}
		}
	}
	if programs != len(files) {
		t.Errorf("%d programs are started, and testdata has %d scripts", programs, len(files))
	}
}

// A program whose instructions do not fit is told so by the server, which names both lengths.
func TestClaudeCodeLearnsOfNoContextThatIsTooShort(t *testing.T) {
	for context, told := range map[int]bool{8192: false, 32_000: true} {
		text := claudeCommand(Endpoint{Context: context}, "").Script()
		if strings.Contains(text, "TOKENS") != told {
			t.Errorf("a context of %d tokens: told %t\n%s", context, !told, text)
		}
	}
}

// A shell does what the script of a command says, whatever is in it.
func TestScriptIsAShells(t *testing.T) {
	file := filepath.Join(t.TempDir(), "it's", "a file")
	odd := "a 'b' $HOME \\ \"c\"\n`d`"
	c := Command{File: file, Text: "$HOME 'x'\n", Unset: []string{"GONE"}, Env: []string{"ODD=" + odd, "PLAIN=a=b"},
		Before:  []string{"echo", "before"},
		Args:    []string{"sh", "-c", `printf '%s|' "$ODD" "$PLAIN" "${GONE-unset}" "$@"`, "sh"},
		Default: []string{"default"}}
	for want, c := range map[string]Command{"default|": c, odd + "|--|": c.With([]string{odd, "--"})} {
		cmd := exec.Command("sh", "-c", c.Script())
		cmd.Env = append(os.Environ(), "GONE=here")
		out, err := cmd.CombinedOutput()
		if want = "before\n" + odd + "|a=b|unset|" + want; err != nil || string(out) != want {
			t.Errorf("%v, %q, want %q, from\n%s", err, out, want, c.Script())
		}
		if text := readText(t, file); text != c.Text {
			t.Errorf("the file has %q", text)
		}
	}
}
