package bench

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/build/program"
	"tandem/build/setup"
)

// TestBenchesPrintAndKeepTheirOutput runs benches without a rival. It expects that each prints its
// table and keeps its lines, also when it missed a bar. A failed bench does not stop the others.
func TestBenchesPrintAndKeepTheirOutput(t *testing.T) {
	b := newTestBuilder(t)
	var out strings.Builder
	b.Out = &out
	of := program.Programs{Tandem: filepath.Join(b.Root, "tandem"),
		Lab: filepath.Join(b.Root, "tandem-lab")}
	script := `#!/bin/sh
test "$1 $3" = "bench --json" || exit 3
case $(basename $0) in
tandem) test "$2" = verify || exit 3 ;;
*) test "$2" != verify || exit 3 ;;
esac
test "$2" = bad && exit 4
echo '{"side":"tandem","threads":2}'
if test "$2" = missed; then
	echo '{"title":"A bar","columns":["ms","bar"],"rows":[[3,"at most 2 missed"]]}'
	exit 1
fi
test "$2" = broken && echo '{}' && echo '{}' && exit 2
if test "$2" = verify; then
	echo '{"title":"A table, '$4 $5 $6'","columns":["rows","ms"],"rows":[[1,12.512],["more",null]],"notes":["a note"]}'
	echo '{"title":"Another","columns":[],"rows":[]}'
	exit
fi
echo "{\"$2_ms\":12.5,\"${7#--}_$(basename "$8")\":1}"
`
	for _, path := range []string{of.Tandem, of.Lab} {
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := RunAll(t.Context(), b, of, []Run{{"start", ""}, {"bad", ""}, {"missed", ""},
		{"broken", ""}, {"memory", "/models/small"}, {"verify", ""}}, "", 1, []string{"--quick"})
	if err == nil || !strings.Contains(err.Error(), "bench bad: ") ||
		!strings.Contains(err.Error(), "bench missed: ") ||
		strings.Contains(err.Error(), "memory") {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"bench start\n", "start ms", "12.5", "tandem tandem",
		"bench --model /models/small memory\n", "memory ms", "model small",
		"A table, --quick --pairs 1\nrows  ms\n1     12.5\nmore  -\na note\n\nAnother\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed %q, which lacks %q", out.String(), want)
		}
	}
	for file, want := range map[string]string{"start": `"start_ms":12.5`,
		"verify": `"title":"Another"`, "memory-small": `"memory_ms":12.5`,
		"missed": `"at most 2 missed"`} {
		text, err := os.ReadFile(filepath.Join(b.Root, "build", "out", "bench", file+".json"))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s.json holds %q, %v", file, text, err)
		}
	}
	for _, name := range []string{"bad", "broken"} {
		if _, err := os.Stat(filepath.Join(b.Root, "build", "out", "bench",
			name+".json")); err == nil {
			t.Errorf("bench %s left a file", name)
		}
	}
	for _, text := range []string{"", "{}", "{}\nnonsense"} {
		if _, err := printAlone(io.Discard, strings.NewReader(text)); err == nil {
			t.Errorf("%q is accepted as a bench", text)
		}
	}
}

// TestBenchesThatDraftGetTheDrafterOfTheirModel expects the draft model of the Starter wherever the suite
// measures drafts, and none that is not asked for.
func TestBenchesThatDraftGetTheDrafterOfTheirModel(t *testing.T) {
	starter := model{ours: "starter.gguf", drafter: "drafts"}
	for name, want := range map[string]bool{"verify": true, "speculation": true, "journey": true,
		"code": true, "scorecard": true, "recall": false, "checkpoints": false} {
		got := Run{name, Starter}.flags(starter, 0, nil)
		if slices.Contains(got, "drafts") != want {
			t.Errorf("%s gets %q", name, got)
		}
	}
	own := Run{"code", Starter}.flags(starter, 0, []string{"--drafter", "mine"})
	if slices.Contains(own, "drafts") {
		t.Errorf("a drafter that was asked for has another one beside it: %q", own)
	}
	if args := (Run{"code", ""}).flags(model{}, 0, nil); slices.Contains(args, "--drafter") {
		t.Errorf("the pocket model gets %q", args)
	}
}

// TestRetrievalModelGoesToEveryBench expects that benches which don't know the model by its name get its
// folder.
func TestRetrievalModelGoesToEveryBench(t *testing.T) {
	b := newTestBuilder(t)
	folder := filepath.Join(b.Root, "models", "retrieval")
	for name, want := range map[string]string{"recall": "retrieval", "code": "retrieval",
		"plain": folder, "memory": folder, "checkpoints": folder} {
		if on, err := benchModel(t.Context(), b, Run{name, retrievalModel}, ""); err != nil || on.ours != want {
			t.Errorf("%s measures %q, %v", name, on.ours, err)
		}
	}
}

// TestRivalTakesNoFlags expects that a flag without effect is refused.
func TestRivalTakesNoFlags(t *testing.T) {
	b := newTestBuilder(t)
	rival := filepath.Join(b.Root, "build", "bench", "plain.py")
	if err := os.MkdirAll(filepath.Dir(rival), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rival, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := bench(t.Context(), b, program.Programs{}, Run{"plain", ""}, "", 0,
		[]string{"--only", "code"}); err == nil ||
		err.Error() != "a bench with a rival takes no --only" {
		t.Errorf("got %v", err)
	}
}

// TestLlamaCppReadsGGUF expects that both sides get the same file, and that another model is refused before
// anything is installed.
func TestLlamaCppReadsGGUF(t *testing.T) {
	b := newTestBuilder(t)
	if err := os.MkdirAll(filepath.Join(b.Root, "build", "bench"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.Root, "build", "bench", "plain.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"", "/models/small"} {
		err := bench(t.Context(), b, program.Programs{}, Run{"plain", model}, LlamaCpp, 0, nil)
		if err == nil || !strings.Contains(err.Error(), "add --model starter or --model FILE.gguf") {
			t.Errorf("on the model %q: %v", model, err)
		}
	}
	on, err := benchModel(t.Context(), b, Run{"plain", "a.gguf"}, LlamaCpp)
	if err != nil || on.ours != "a.gguf" || on.rival != on.ours {
		t.Errorf("the sides get %+v, %v", on, err)
	}
	if got := (Run{"plain", "/models/a.gguf"}).file(LlamaCpp); got != "plain-a.gguf-against-llama.cpp" {
		t.Errorf("the figures are kept as %s, where those against mlx_lm may be", got)
	}
}

// TestSuiteHasEveryBench compares the suite with the benches of both programs.
func TestSuiteHasEveryBench(t *testing.T) {
	var has, runs []string
	for _, room := range []string{"bench", "lab"} {
		source, err := os.ReadFile(filepath.Join("..", "..", "app", room, "benches.go"))
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(string(source), "func Benches(")
		for _, m := range regexp.MustCompile(`\{(?:Name: )?"([a-z-]+)", `).FindAllStringSubmatch(list, -1) {
			if has = append(has, m[1]); slices.Contains(ofTandem, m[1]) != (room == "bench") {
				t.Errorf("%s is a bench of app/%s", m[1], room)
			}
		}
	}
	for _, r := range Suite {
		// The programs that the run starts are built for it.
		alone := map[string]bool{"start": true, "endpoint": true}[r.Name]
		if r.StartsTandem() != (alone || !r.StartsLab()) ||
			r.StartsLab() != (r.program(program.Programs{Lab: "lab"}) == "lab") {
			t.Errorf("%s starts tandem %t, the lab %t", r, r.StartsTandem(), r.StartsLab())
		}
		runs = append(runs, r.Name)
	}
	if runs = slices.Compact(runs); !slices.Equal(runs, has) || len(has) == 0 {
		t.Errorf("bench runs %q, the programs have %q", runs, has)
	}
	script, err := os.ReadFile("_random_model.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range RandomModels {
		if !slices.ContainsFunc(Suite, func(r Run) bool { return r.Model == name }) {
			t.Errorf("the random model %s is not benched", name)
		}
		if !strings.Contains(string(script), "\n    \""+name+"\": {") {
			t.Errorf("no script makes the random model %s", name)
		}
	}
}

// TestSuiteOnOneModel expects every bench once. A bench that takes a model gets it.
func TestSuiteOnOneModel(t *testing.T) {
	var got, want []string
	for _, r := range SuiteOn(Starter) {
		got = append(got, r.Name)
		if takes := !slices.Contains([]string{"load", "start", "endpoint", "drafter-parity"},
			r.Name); takes !=
			(r.Model == Starter) {
			t.Errorf("%s: model %q", r.Name, r.Model)
		}
	}
	for _, r := range Suite {
		want = append(want, r.Name)
	}
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("benches %q, want %q", got, want)
	}
}

// newTestBuilder has an empty checkout and an empty cache.
func newTestBuilder(t *testing.T) *setup.Builder {
	return &setup.Builder{Root: t.TempDir(), Cache: setup.Cache{Dir: t.TempDir()}, Out: io.Discard}
}
