package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	right = `{"schema_version": 1, "preset": "test-path", "params": {"path": "engine/cache"},
	"ref": "` + rightRef + `", "requested_by": "a test", "nonce": "first-one"}`
	// rightRef is a placeholder for the commit that is checked out.
	rightRef = "0123456789abcdef0123456789abcdef01234567"
)

// hostile are manifests that no runner may take, each a right one with one thing changed.
var hostile = []struct{ name, from, to string }{
	{"unknown preset", `test-path`, `rm-all`},
	{"preset with a path", `test-path`, `../probe`},
	{"command in place of a preset", `"test-path"`, `["sh", "-c", "touch canary"]`},
	{"shell in a path", `engine/cache`, `engine/cache; touch canary`},
	{"substitution in a path", `engine/cache`, `$(touch canary)`},
	{"traversal", `engine/cache`, `engine/../../outside`},
	{"traversal at the end", `engine/cache`, `engine/cache/..`},
	{"absolute path", `engine/cache`, `/etc`},
	{"home folder", `engine/cache`, `~/x`},
	{"flag in place of a path", `engine/cache`, `-exec=./canary`},
	{"flag below a folder", `engine/cache`, `engine/-exec=canary`},
	{"all packages", `engine/cache`, `engine/...`},
	{"packages of a prefix", `engine/cache`, `engine/cac...`},
	{"folder that is not there", `engine/cache`, `engine/none`},
	{"folder without tests", `engine/cache`, `engine`},
	{"path through a link", `engine/cache`, `linked/cache`},
	{"path through a link inside", `engine/cache`, `inside/cache`},
	{"linked folder", `engine/cache`, `engine/linked`},
	{"path of git", `engine/cache`, `.git/hooks`},
	{"path with a line", `engine/cache`, `engine/cache\n-exec=canary`},
	{"path with a zero", `engine/cache`, `engine/cache\u0000`},
	{"path of letters that look alike", `engine/cache`, `engine/саche`},
	{"long path", `engine/cache`, strings.Repeat("a/", 150) + "a"},
	{"number as a path", `"engine/cache"`, `7`},
	{"list as a path", `"engine/cache"`, `["engine/cache"]`},
	{"object as a path", `"engine/cache"`, `{"path": "engine/cache"}`},
	{"null as a path", `"engine/cache"`, `null`},
	{"variable in a parameter", `engine/cache`, `${ENV:SECRET}`},
	{"field in a parameter", `engine/cache`, `{report}`},
	{"unknown parameter", `"path": `, `"exec": "canary", "path": `},
	{"parameter twice", `"path": `, `"path": "engine", "path": `},
	{"missing parameter", `"path": "engine/cache"`, ``},
	{"parameters as a list", `{"path": "engine/cache"}`, `["path", "engine/cache"]`},
	{"count as a text", `"test-path", "params": {"path": "engine/cache"}`, `"recall", "params": {"samples": "10"}`},
	{"count past its bound", `"test-path", "params": {"path": "engine/cache"}`, `"recall", "params": {"samples": 51}`},
	{"count below its bound", `"test-path", "params": {"path": "engine/cache"}`, `"recall", "params": {"samples": -1}`},
	{"count beyond all numbers", `"test-path", "params": {"path": "engine/cache"}`, `"recall", "params": {"samples": 1e999999999}`},
	{"fraction as a count", `"test-path", "params": {"path": "engine/cache"}`, `"recall", "params": {"samples": 10.0}`},
	{"unknown choice", `"test-path", "params": {"path": "engine/cache"}`, `"recall", "params": {"size": "ctx999"}`},
	{"unknown field", `"preset"`, `"argv": ["sh"], "preset"`},
	{"unknown field of a number", `"preset"`, `"limit_s": 1e9, "preset"`},
	{"field in another case", `"nonce"`, `"Nonce"`},
	{"field twice", `"preset"`, `"preset": "probe", "preset"`},
	{"field twice by an escape", `"preset"`, `"pr\u0065set": "probe", "preset"`},
	{"missing field", `, "requested_by": "a test"`, ``},
	{"schema of tomorrow", `"schema_version": 1`, `"schema_version": 2`},
	{"schema as a text", `"schema_version": 1`, `"schema_version": "1"`},
	{"schema as a truth", `"schema_version": 1`, `"schema_version": true`},
	{"ref that is a flag", rightRef, `--upload-pack=touch canary`},
	{"ref that is a branch", rightRef, `main`},
	{"ref that is short", rightRef, rightRef[:12]},
	{"ref in capitals", rightRef, strings.ToUpper(rightRef)},
	{"ref of no commit", rightRef, strings.Repeat("0a", 20)},
	{"ref that is empty", rightRef, ``},
	{"nonce too short", `first-one`, `abc`},
	{"nonce too long", `first-one`, strings.Repeat("a", 65)},
	{"nonce in capitals", `first-one`, `First-one`},
	{"nonce that is a flag", `first-one`, `-first`},
	{"nonce with wide digits", `first-one`, `first-１`},
	{"nonce that climbs", `first-one`, `../../first`},
	{"nonce with a line", `first-one`, `first-one\n`},
	{"nonce of half a sign", `first-one`, `first-\ud800`},
	{"name with an escape", `a test`, `a\u001b[2Jtest`},
	{"name that is markup", `a test`, `<img src=x>`},
	{"something after the object", `"first-one"}`, `"first-one"} {}`},
	{"comment", `"preset"`, `/* */ "preset"`},
	{"comma too many", `"first-one"`, `"first-one",`},
	{"byte order mark", `{"schema_version"`, "\ufeff" + `{"schema_version"`},
	{"no UTF-8", `a test`, "a\xfftest"},
	{"cut off", `"nonce": "first-one"}`, `"nonce"`},
	{"list", `{"schema_version": 1`, `[{"schema_version": 1`},
	{"deep", `{"path": "engine/cache"}`, strings.Repeat(`{"path":`, 1000) + "1" + strings.Repeat("}", 1000)},
	{"huge", `"nonce"`, strings.Repeat(" ", maxManifest) + `"nonce"`},
	{"huge after the object", `"first-one"}`, `"first-one"}` + strings.Repeat(" ", maxManifest)},
}

// hostileBench has what the hostile manifests try to reach, and a go that leaves a canary.
func hostileBench(t *testing.T) (b *bench, canary string) {
	t.Helper()
	b = newBench(t, "")
	canary = filepath.Join(b.checkout, "canary")
	writeScript(t, filepath.Join(b.programs, "go"), "echo alive >> "+canary+"\n")
	outside := filepath.Join(b.checkout, "../outside")
	write(t, filepath.Join(outside, "cache/x_test.go"), "package cache\n")
	for _, link := range [][2]string{{"../outside", "linked"}, {"../../outside/cache", "engine/linked"},
		{"engine", "inside"}, {"cache", "engine/cac..."}} {
		if err := os.Symlink(link[0], filepath.Join(b.checkout, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	return b, canary
}

// Each hostile manifest is refused before any process starts: neither by the runner's own count nor
// by what a real process would leave behind.
func TestHostileManifestsStartNoProcess(t *testing.T) {
	b, canary := hostileBench(t)
	started := 0
	b.runner.start = func(ctx context.Context, c command) (int, error) {
		started++
		c.program = filepath.Join(b.programs, "go")
		return c.run(ctx)
	}
	head := b.commit()
	for _, h := range hostile {
		if strings.Count(right, h.from) != 1 {
			t.Fatalf("%s: %q stands not once in the right manifest", h.name, h.from)
		}
		b.request(strings.Replace(strings.Replace(right, h.from, h.to, 1), rightRef, head, 1))
		_, err := b.runner.Run(t.Context(), ManifestFile)
		if ExitCode(err) != ExitRejected {
			t.Errorf("%s: exit %d, want %d: %v", h.name, ExitCode(err), ExitRejected, err)
		} else if strings.ContainsFunc(err.Error(), func(c rune) bool { return c < ' ' }) {
			t.Errorf("%s: the reason has control characters: %q", h.name, err)
		}
		if err := b.runner.DryRun(t.Context(), ManifestFile, &b.messages); ExitCode(err) != ExitRejected {
			t.Errorf("%s: a dry run says %v", h.name, err)
		}
	}
	if _, err := os.Stat(canary); started > 0 || err == nil {
		t.Errorf("%d processes were started by %d hostile manifests", started, len(hostile))
	}
	if entries, _ := os.ReadDir(b.runner.State); len(entries) > 0 {
		t.Errorf("a refused manifest left %v in the state folder", entries)
	}
	// The same bench runs the manifest that all of them were made of.
	b.request(strings.Replace(right, rightRef, head, 1))
	if s := b.run(t.Context()); s.ExitCode != 0 || started != 2 {
		t.Errorf("the right manifest: exit %d (%s), %d processes", s.ExitCode, s.Error, started)
	}
	if read(t, canary) != "alive\nalive\n" {
		t.Error("the right manifest leaves no canary")
	}
}

// A manifest that is not a file of the checkout is refused: a link, a folder, a pipe, nothing.
func TestManifestMustBeAFile(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"none":   func(string) error { return nil },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"link": func(path string) error {
			return errors.Join(os.WriteFile(path+".other", []byte(right), 0o644),
				os.Symlink("request.json.other", path))
		},
		"pipe": mkfifo,
	} {
		b := newBench(t, "exit 0\n")
		b.runner.start = func(context.Context, command) (int, error) {
			t.Errorf("%s: a process was started", name)
			return 0, nil
		}
		path := filepath.Join(b.checkout, ManifestFile)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), make(path)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.runner.Run(t.Context(), ManifestFile); ExitCode(err) != ExitRejected {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := newBench(t, "exit 0\n")
	b.request(right)
	for _, name := range []string{"../manifest.json", "/etc/passwd", ""} {
		if _, err := b.runner.Run(t.Context(), name); ExitCode(err) != ExitRejected {
			t.Errorf("the manifest %q: %v", name, err)
		}
	}
}

// A request reads back what it wrote.
func TestManifestOfARequestIsTaken(t *testing.T) {
	for _, p := range Presets() {
		params := map[string]any{}
		for _, x := range p.Params {
			switch {
			case x.Default != nil:
				params[x.Name] = x.Default
			case x.Name == "path":
				params[x.Name] = "engine/cache"
			default:
				params[x.Name] = "reports/a.json"
			}
		}
		q, err := NewRequest(p.Name, params, strings.Repeat("0f", 20), "me@home", NewNonce())
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(q.Manifest())
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if back.Nonce != q.Nonce {
			t.Errorf("%s: back.Nonce = %v, want %v", p.Name, back.Nonce, q.Nonce)
		}
		if back.Ref != q.Ref {
			t.Errorf("%s: back.Ref = %v, want %v", p.Name, back.Ref, q.Ref)
		}
		if back.Preset.Name != p.Name {
			t.Errorf("%s: back.Preset.Name = %v, want %v", p.Name, back.Preset.Name, p.Name)
		}
		if !maps.Equal(back.Params, q.Params) {
			t.Errorf("%s: back.Params = %v, want %v", p.Name, back.Params, q.Params)
		}
	}
}

// The command line gives numbers as strings, and they are numbers in the manifest.
func TestParametersAreReadFromTheCommandLine(t *testing.T) {
	p, _ := FindPreset("recall")
	samples, _ := p.param("samples")
	size, _ := p.param("size")
	for text, ok := range map[string]bool{"5": true, "50": true, "4": false, "51": false, "": false,
		"+5": false, "05": false, "5.0": false, "5e0": false, " 5": false, "0x5": false} {
		_, err := NewRequest("recall", map[string]any{"samples": samples.Read(text),
			"size": size.Read("ctx280")}, rightRef, "me", "abcd")
		if (err == nil) != ok {
			t.Errorf("samples=%q: %v", text, err)
		}
	}
}

// Every word of every preset is plain, a known parameter or an allowed variable, and the programs
// are ours.
func TestPresetsAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Presets() {
		if seen[p.Name] {
			t.Errorf("there are two presets %q", p.Name)
		}
		if !nonceForm.MatchString(p.Name) {
			t.Errorf("preset %q: p.Name = %q, want a match of %v", p.Name, p.Name, nonceForm)
		}
		if len(p.Name) > 40 {
			t.Errorf("preset %q: len(p.Name) = %v, want at most 40", p.Name, len(p.Name))
		}
		if p.Doc == "" {
			t.Errorf("preset %q: p.Doc is empty", p.Name)
		}
		if p.Limit <= 0 {
			t.Errorf("preset %q: p.Limit = %v, want more than 0", p.Name, p.Limit)
		}
		seen[p.Name] = true
		used := map[string]bool{}
		for i, words := range p.Commands() {
			if !slices.Contains([]string{"go", "mkdir", "ln", "tandem", "tandem-lab"}, words[0]) {
				t.Errorf("%s runs %s", p.Name, words[0])
			}
			if mains[words[0]] != "" && !isGate(words) && !slices.ContainsFunc(p.Commands()[:i],
				func(w []string) bool { return slices.Contains(w, Built(words[0])) }) {
				t.Errorf("%s runs %s before it is built", p.Name, words[0])
			}
			for _, word := range words {
				if name, ok := variableOf(word); ok {
					if variables[name] == "" {
						t.Errorf("%s reads %s, which is not in the table", p.Name, name)
					}
				} else if name, ok := fieldOf(word); ok {
					if _, known := p.param(name); !known && name != "report" {
						t.Errorf("%s uses {%s}, which it does not have", p.Name, name)
					}
					used[name] = true
				} else if strings.ContainsAny(word, "${}") {
					t.Errorf("%s has the word %q, neither plain nor wholly a field", p.Name, word)
				}
			}
		}
		for _, x := range p.Params {
			if !used[x.Name] {
				t.Errorf("%s takes %s and does not use it", p.Name, x.Name)
			}
		}
		if used["report"] != p.Reports {
			t.Errorf("%s: reports is %t, uses {report}: %t", p.Name, p.Reports, used["report"])
		}
	}
	for _, name := range []string{"probe", "tests", "gate", "test-path", "recall", "code",
		"block-size", "kvquant", "drafter-parity-float32", "drafter-parity-bf16", "fused-probe",
		"scorecard"} {
		if !seen[name] {
			t.Errorf("there is no preset %s", name)
		}
	}
}

// What FuzzManifest's parser takes can be neither a flag nor an escape, whatever it contains.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(right))
	for _, h := range hostile {
		if len(h.to) < 1000 {
			f.Add([]byte(strings.Replace(right, h.from, h.to, 1)))
		}
	}
	f.Add([]byte(`{"schema_version":1,"preset":"recall","params":{"samples":10,"size":"ctx280"},"ref":"` +
		rightRef + `","requested_by":"x","nonce":"0000"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := Parse(text)
		if err != nil {
			if ExitCode(err) != ExitRejected {
				t.Fatalf("%v is no rejection", err)
			}
			return
		}
		again, err := Parse(q.Manifest())
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again.Params) != fmt.Sprint(q.Params) {
			t.Fatalf("fmt.Sprint(again.Params) = %v, want %v",
				fmt.Sprint(again.Params), fmt.Sprint(q.Params))
		}
		if again.Nonce != q.Nonce {
			t.Fatalf("again.Nonce = %v, want %v", again.Nonce, q.Nonce)
		}
		if again.Ref != q.Ref {
			t.Fatalf("again.Ref = %v, want %v", again.Ref, q.Ref)
		}
		if again.Preset.Name != q.Preset.Name {
			t.Fatalf("again.Preset.Name = %v, want %v", again.Preset.Name, q.Preset.Name)
		}
		for _, p := range q.Preset.Params {
			word, err := q.word(p)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if word == "" {
				t.Fatalf("%s: word is empty", text)
			}
			if word[0] == '-' {
				t.Fatalf("%s: word[0] = %v", text, word[0])
			}
			if strings.HasPrefix(word, "/") {
				t.Fatalf(`%s: word = %q, want another start than "/"`, text, word)
			}
			if strings.Contains(word, "..") {
				t.Fatalf(`%s: word = %q, want none of ".."`, text, word)
			}
			if strings.ContainsFunc(word, func(c rune) bool {
				return c <= ' ' || c > '~' || strings.ContainsRune("$`{}\\\"'*?;&|<>()~", c)
			}) {
				t.Fatalf("%s: word = %q has characters of a shell", text, word)
			}
		}
		branch, err := BranchOf(q, "")
		if err != nil || !branchForm.MatchString(branch) || !isBranchOf(branch, q) {
			t.Fatalf("%s: the branch %q: %v", text, branch, err)
		}
	})
}
