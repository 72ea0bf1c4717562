package main

import (
	"errors"
	"go/build/constraint"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestInstallLine(t *testing.T) {
	list := []requirement{
		{what: "a C++ compiler", apt: "g++", hint: "xcode-select --install"},
		{what: "CMake", apt: "cmake", brew: "cmake"},
		{what: "Rust", hint: "rustup.rs"},
	}
	tests := []struct {
		missing []requirement
		goos    string
		want    string
		all     bool
	}{
		{nil, "linux", "", true},
		{list[:2], "linux", "apt-get install -y --no-install-recommends g++ cmake", true},
		{list[:2], "darwin", "brew install cmake", false},
		{list[1:2], "darwin", "brew install cmake", true},
		{list[2:], "linux", "", false},
		{[]requirement{{what: "Node.js", brew: "node"}, {what: "npm", brew: "node"}}, "darwin", "brew install node", true},
	}
	for _, test := range tests {
		line, all := installLine(test.missing, test.goos)
		if got := strings.Join(line, " "); got != test.want || all != test.all {
			t.Errorf("%s %v: got %q, %t", test.goos, test.missing, got, all)
		}
	}
	text := describe(list, "linux")
	for _, want := range []string{"rustup.rs", "run: sudo apt-get install -y --no-install-recommends g++ cmake"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

func TestReportRefusesSkips(t *testing.T) {
	const events = `{"Action":"run","Package":"tandem/a","Test":"TestX"}
{"Action":"output","Package":"tandem/a","Test":"TestX","Output":"    x_test.go:1: no MLX here\n"}
{"Action":"skip","Package":"tandem/a","Test":"TestX","Elapsed":0}
{"Action":"output","Package":"tandem/a","Output":"ok  \ttandem/a\t(cached)\n"}
{"Action":"pass","Package":"tandem/a","Elapsed":0.25}
{"Action":"skip","Package":"tandem/b","Elapsed":0}
`
	var out strings.Builder
	r := newTestReport(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if err := r.err(); err == nil || !strings.Contains(err.Error(), "tandem/a TestX") || strings.Contains(err.Error(), "tandem/b") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), "tandem/a (cached)") {
		t.Errorf("printed %q", out.String())
	}
}

func TestReportShowsFailures(t *testing.T) {
	const events = `{"Action":"output","Package":"tandem/a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"tandem/a","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"tandem/a","Test":"TestBad","Output":"the reason\n"}
{"Action":"fail","Package":"tandem/a","Test":"TestBad","Elapsed":0}
{"Action":"fail","Package":"tandem/a","Elapsed":1}
`
	var out strings.Builder
	r := newTestReport(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if r.err() == nil || !strings.Contains(out.String(), "the reason") || strings.Contains(out.String(), "chatter") {
		t.Errorf("error %v, printed %q", r.err(), out.String())
	}
}

// TestTypeCheck plants the two faults that a build on another system can't see, behind a darwin cgo file.
func TestTypeCheck(t *testing.T) {
	dir := t.TempDir()
	list := func(body string) io.Reader {
		text := "package p\n\n// int f(void);\nimport \"C\"\n\nconst A, B int = C.A, C.B\n\nvar names = map[int]string{A: \"a\", B: \"b\"}\n\nfunc g() { " + body + " }\n"
		if err := os.WriteFile(filepath.Join(dir, "p_darwin.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return strings.NewReader(`{"ImportPath":"p","Dir":"` + dir + `","CgoFiles":["p_darwin.go"]}`)
	}
	if err := typeCheck(list("_ = int(C.f())")); err != nil {
		t.Errorf("a right file: %v", err)
	}
	for _, fault := range []string{"undefined()", "var s string = 1; _ = s", "_ = names[\"a\"]", "_ = map[undefined]int{}"} {
		if err := typeCheck(list(fault)); err == nil {
			t.Errorf("%s was not noticed", fault)
		}
	}
	missing := strings.NewReader(`{"ImportPath":"p","Error":{"Err":"no such package"}}`)
	if err := typeCheck(missing); err == nil {
		t.Error("go list's own error was not noticed")
	}
}

// TestCheckedTags: no build tag of ours is left out of the type check.
func TestCheckedTags(t *testing.T) {
	known := append(strings.Split(checkedTags, ","), "ui", "darwin")
	found := map[string]bool{}
	for _, dir := range topDirs {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && slices.Contains([]string{"node_modules", "out", ".deps"}, d.Name()) {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line, _, _ := strings.Cut(string(text), "\n")
			if !constraint.IsGoBuild(line) {
				return nil
			}
			x, err := constraint.Parse(line)
			if err != nil {
				return err
			}
			x.Eval(func(tag string) bool { // which asks for each of them
				if found[tag] = true; !slices.Contains(known, tag) {
					t.Errorf("%s: nothing checks what the tag %s adds", path, tag)
				}
				return false
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !found["scripted"] || !found["desktop"] {
		t.Errorf("the tags %v were found", found)
	}
}

// TestRunPassesFlags: run adds no flag of its own, no --model above all, which serve would keep as the choice.
func TestRunPassesFlags(t *testing.T) {
	for _, args := range [][]string{nil, {"--addr", "127.0.0.1:0"}, {"--model", "x", "--context", "64"}} {
		cmd := serveCommand("/out/tandem", args)
		if want := append([]string{"/out/tandem", "serve"}, args...); !slices.Equal(cmd.Args, want) || cmd.Env != nil {
			t.Errorf("%q runs %q with %q, want %q and our environment", args, cmd.Args, cmd.Env, want)
		}
	}
}

func TestRecorders(t *testing.T) {
	b := newTestBuilder(t)
	if _, err := b.recorders(nil); err == nil {
		t.Error("no recorders at all is not an error")
	}
	dir := filepath.Join(b.root, fixturesDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"parity.py", "tokenizers.py", "_compare.py", "requirements.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.recorders(nil); err != nil || !slices.Equal(got, []string{"parity", "tokenizers"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := b.recorders([]string{"_compare"}); err == nil {
		t.Error("a helper was taken for a recorder")
	}
}

// TestCompareTurns runs two shell scripts in the protocol of a bench: one twice as fast as the other.
func TestCompareTurns(t *testing.T) {
	b := newTestBuilder(t)
	side := func(header string, measurement string) []string {
		return []string{"-c", `echo '` + header + `'; while read line; do echo '` + measurement + `'; done`}
	}
	ours := side(`{"side":"tandem","tokens":[1,2],"bars":{"decode_per_second":1.5,"first_ms":1}}`, `{"decode_per_second":20,"first_ms":5,"own":1}`)
	rival := side(`{"side":"rival","tokens":[1,2]}`, `{"decode_per_second":10,"first_ms":4}`)
	report, err := b.compare(t.Context(), 3, b.command(t.Context(), "sh", ours...), b.command(t.Context(), "sh", rival...))
	if err != nil {
		t.Fatal(err)
	}
	if !report.TokensEqual || report.Pairs != 3 || len(report.Rows) != 2 {
		t.Fatalf("got %+v", report)
	}
	decode, first := report.Rows[0], report.Rows[1]
	if decode.Ratio != 2 || !*decode.Met {
		t.Errorf("decode: %+v", decode)
	}
	if first.Ratio != 0.8 || *first.Met {
		t.Errorf("first_ms, a cost: %+v", first)
	}
	if err := report.verdict(); err == nil || !strings.Contains(err.Error(), "first_ms is 0.800 times") || strings.Contains(err.Error(), "decode") {
		t.Errorf("a bar was missed: %v", err)
	}
	if report.Rows = report.Rows[:1]; report.verdict() != nil {
		t.Errorf("no bar was missed: %v", report.verdict())
	}
}

// TestCompareDoubles checks that an undecided comparison takes twice the pairs, once.
func TestCompareDoubles(t *testing.T) {
	b := newTestBuilder(t)
	script := `echo '{"side":"x","bars":{"a_per_second":1}}'; while read line; do echo '{"a_per_second":1}'; done`
	report, err := b.compare(t.Context(), 2, b.command(t.Context(), "sh", "-c", script), b.command(t.Context(), "sh", "-c", script))
	if err != nil || report.Pairs != 4 {
		t.Errorf("%d pairs, %v", report.Pairs, err)
	}
}

func TestCompareSeesOtherTokens(t *testing.T) {
	b := newTestBuilder(t)
	side := func(tokens string) []string {
		return []string{"-c", `echo '{"side":"x","tokens":` + tokens + `}'; while read line; do echo '{}'; done`}
	}
	report, err := b.compare(t.Context(), 1, b.command(t.Context(), "sh", side("[1,2]")...), b.command(t.Context(), "sh", side("[1,3]")...))
	if err != nil || report.TokensEqual || report.verdict() == nil {
		t.Errorf("equal %t, %v", report.TokensEqual, err)
	}
}

func TestCompareReportsDeath(t *testing.T) {
	b := newTestBuilder(t)
	fine := `echo '{"side":"x"}'; while read line; do echo '{}'; done`
	for _, dies := range []string{"exit 1", `echo '{"side":"y"}'`, "echo nonsense"} {
		if _, err := b.compare(t.Context(), 2, b.command(t.Context(), "sh", "-c", fine), b.command(t.Context(), "sh", "-c", dies)); err == nil {
			t.Errorf("%q is not an error", dies)
		}
	}
}

func TestBootstrap(t *testing.T) {
	var values []float64
	for i := range 101 {
		values = append(values, float64(i))
	}
	low, high := bootstrap(values)
	if m := median(values); m != 50 || low >= m || high <= m || high-low > 50 || math.IsNaN(low+high) {
		t.Errorf("median %g in %g to %g", m, low, high)
	}
	if median([]float64{3, 1}) != 2 || median(nil) != 0 {
		t.Error("median of an even number or none")
	}
}

func TestDispatchRefusesUnknownVerbs(t *testing.T) {
	for _, args := range [][]string{nil, {"frobnicate"}} {
		var stderr strings.Builder
		err := dispatch(t.Context(), args, &stderr)
		if !errors.Is(err, errUsage) || !strings.Contains(stderr.String(), "fixtures [--check]") {
			t.Errorf("%q: %v, printed %q", args, err, stderr.String())
		}
	}
}
