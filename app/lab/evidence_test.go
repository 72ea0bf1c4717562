package lab

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
)

// A fewSamples evaluation measures too little for a speed-up.
type fewSamples struct{ restored int } // rows of its second sample

func (fewSamples) Header() figures.Header { return figures.Header{Side: "tandem"} }
func (fewSamples) Close() error           { return nil }

func (e fewSamples) evaluate(_ context.Context, table func(figures.Table) error,
	report reporting) error {
	answer := evidence.Sample{Prompt: 200, Text: "It is A-1.", Expected: "A-1",
		Correct: new(true), Tokens: 40, Prefill: time.Second,
		Decode: time.Second}
	one, two := answer, answer
	one.RestoredRows, two.RestoredRows = 132, e.restored
	one.EvictedRows, two.EvictedRows = 132, 132
	if err := table(figures.Table{Title: "its own table", Columns: []string{"a"}}); err != nil {
		return err
	}
	return report("needles", evidence.Run{Kind: evidence.KindRecall,
		Cross: &evidence.Arm{Name: "f_theta", RestoredFrom: evidence.FromFTheta,
			Samples: []evidence.Sample{one, two}},
		Oracle: &evidence.Arm{Name: "oracle", Samples: []evidence.Sample{answer, answer}}})
}

// runEvaluation runs an evaluation as `tandem-lab bench` does.
func runEvaluation(t *testing.T, e evaluator, file string, run bench.Run) (out string, err error) {
	t.Helper()
	var text strings.Builder
	run.Options = evaluation{func(bench.Env) (evaluator, error) { return e, nil }, file}
	err = run.Do(t.Context(), bench.Env{Out: &text})
	return text.String(), err
}

// TestEvaluationsPassTheGate runs one whose speed-up is withheld, and one that the gate refuses.
func TestEvaluationsPassTheGate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reports.json")
	out, err := runEvaluation(t, fewSamples{132}, file, bench.Run{})
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"its own table",
		`1.000 with restoration from f_theta ("f_theta"), oracle 1.000, 2 samples`,
		"speedup  withheld: SPEEDUP_SAMPLES",
		"\nspeedup: SPEEDUP_SAMPLES: the system under test has 2 samples; measure at least 5\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("it prints no %q:\n%s", want, out)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reports, err := evidence.Read(f)
	if err != nil || len(reports) != 1 || len(evidence.Check(reports[0])) > 0 {
		t.Errorf("the file has %d reports, %v", len(reports), err)
	}

	out, err = runEvaluation(t, fewSamples{0}, "", bench.Run{JSON: true})
	if err == nil || !strings.Contains(err.Error(), "needles: MIXED_RESTORATION_PATHS ") {
		t.Errorf("a mixed run ends with %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var table figures.Table
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &table); err != nil ||
		table.Title != "needles" || len(table.Rows) != 2 {
		t.Errorf("the last of %d lines is %s, %v", len(lines), lines[len(lines)-1], err)
	}
}

// A failing evaluation reports something that the gate refuses, and then fails.
type failing struct{ fewSamples }

var errFailing = errors.New("it fails after that")

func (f failing) evaluate(ctx context.Context, table func(figures.Table) error,
	report reporting) error {
	return errors.Join(f.fewSamples.evaluate(ctx, table, report), errFailing)
}

// TestBothErrorsAreSaid: what the gate refused is said even if the evaluation fails.
func TestBothErrorsAreSaid(t *testing.T) {
	_, err := runEvaluation(t, failing{}, "", bench.Run{})
	if !errors.Is(err, errFailing) || !strings.Contains(err.Error(), "MIXED_RESTORATION_PATHS") {
		t.Errorf("it ends with %v", err)
	}
}

// TestOptionsThatWouldBeIgnored are refused.
func TestOptionsThatWouldBeIgnored(t *testing.T) {
	two := []string{"--drafter", "a", "--drafter", "b"}
	for _, c := range []struct {
		bench, want string
		args        []string
	}{
		{"code", "give one drafter", two},
		{"recall", "give one drafter", two},
		{"scorecard", "give one drafter", two},
		{"journey", "", two},
		{"kvquant", "unknown flag: --drafter", two},
		{"contexts", "unknown flag: --drafter", two},
		{"start", "unknown flag: --model", []string{"--model", "a"}},
		{"load", "unknown flag: --out", []string{"--out", "a.json"}},
		{"recall", "", []string{"--size", "ctx70"}},
		{"recall", "give one of them", []string{"--size", "ctx70", "--long"}},
	} {
		f := pflag.NewFlagSet(c.bench, pflag.ContinueOnError)
		f.SetOutput(io.Discard)
		run := benchNamed(t, c.bench).NewRun(f)
		err := f.Parse(c.args)
		if err == nil && c.want == "give one of them" {
			err = run.Do(t.Context(), bench.Env{})
		}
		switch {
		case err == nil && c.want == "":
		case err == nil || c.want == "" || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s %v: %v, want %q", c.bench, c.args, err, c.want)
		}
	}
}

// benchNamed returns the bench of a name.
func benchNamed(t *testing.T, name string) bench.Bench {
	t.Helper()
	for _, b := range Benches("", "", nil, nil) {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("there is no bench %s", name)
	return bench.Bench{}
}

// TestEvaluationsTakeNoWait asks an evaluation to measure in turns with a rival.
func TestEvaluationsTakeNoWait(t *testing.T) {
	if _, err := runEvaluation(t, fewSamples{1}, "", bench.Run{Wait: true}); err == nil {
		t.Error("it waits")
	}
}
