package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"

	"tandem/app/figures"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/mlx"
)

// A Bench is one thing that can be measured.
type Bench struct {
	Name string
	Doc  string // one line

	open  func(ctx context.Context, o Options) (bench, error)
	takes string // its flags that not all benches read, between spaces
}

// Options of Run.
type Options struct {
	Model string // folder, or retrieval; empty = the pocket model, for evaluations the starter
	JSON  bool   // lines of JSON, a header first
	Wait  bool   // measure once for each line read from In, until it ends

	Drafters []string // folders of drafters for the model
	Contexts []int    // of verify, in tokens; nil = 64, 512, 2048
	Pairs    int      // of a comparison, at least; 0 = 20
	Quick    bool     // few measurements, to see that a bench works
	Full     bool     // of speculation: every combination
	Only     string   // of speculation: the tables whose name contains it; of endpoint and load: the rows
	Home     string   // where verify keeps its figures; empty = nowhere
	Reports  string   // file for the reports of an evaluation; empty = none

	Starter string // path of the starter model; empty = there is none
	Samples int    // prompts of an evaluation; 0 = 5
	Size    string // haystack of recall; empty = ctx70, and ctx280 from saved reports
	Long    bool   // of recall: ctx280 too
	Tokens  int    // of an answer, at most; 0 = what the evaluation asks for
	Block   int    // rows of a block of code; 0 = 4, 8 and 16
	Probe   string // of code: fused
	Dtype   string // of drafter-parity: float32 or bf16; empty = both

	// Open opens a Tandem in a home folder of its own, with the pocket model and a drafter; empty
	// is auto. The bench endpoint needs it, and package app provides it.
	Open func(ctx context.Context, drafter string) (Stage, error)

	In       io.Reader
	Out, Err io.Writer
}

// A Stage is a Tandem in a home folder of its own. It serves endpoints in this process, and a
// [Generating] function watches or replaces their engine.
type Stage interface {
	// Serve opens an endpoint on a free port and returns its address. Its models generate by the
	// function.
	Serve(generate Generating) (url string, err error)
	// Close ends it. The caller waits for its requests first.
	Close() error
}

// A Generating function is called in place of a model's Generate, which it may call.
type Generating func(context.Context, model.Model, engine.Request) iter.Seq2[engine.Token, error]

// Check returns an error for an option that the bench would ignore.
func (b Bench) Check(o Options) error {
	for _, option := range []struct {
		flag  string
		given bool
	}{
		{"model", o.Model != ""}, {"drafter", len(o.Drafters) > 0}, {"context", o.Contexts != nil},
		{"pairs", o.Pairs != 0},
		{"quick", o.Quick}, {"full", o.Full}, {"only", o.Only != ""},
		{"out", o.Reports != ""}, {"samples", o.Samples != 0}, {"size", o.Size != ""},
		{"long", o.Long}, {"tokens", o.Tokens != 0}, {"block", o.Block != 0},
		{"probe", o.Probe != ""}, {"dtype", o.Dtype != ""},
	} {
		if option.given && !b.takesFlag(option.flag) {
			return fmt.Errorf("%s takes no --%s", b.Name, option.flag)
		}
	}
	switch {
	case len(o.Drafters) > 1 && !b.takesFlag(severalDrafters):
		return fmt.Errorf("%s takes one --drafter", b.Name)
	case o.Size != "" && o.Long:
		return errors.New("--size names one haystack and --long adds one to the usual: give one of them")
	}
	return nil
}

// severalDrafters, in Bench.takes, allows --drafter more than once.
const severalDrafters = "drafters"

// takesFlag reports whether the bench reads a flag.
func (b Bench) takesFlag(name string) bool {
	return slices.Contains(strings.Fields(b.takes), name)
}

// A bench is opened once. It is a measurer, a reporter or an [evaluator].
type bench interface {
	header() figures.Header
	Close() error
}

// A measurer measures as often as it is asked, in turns with a rival.
type measurer interface {
	bench
	measure(ctx context.Context) (figures.Metrics, error)
}

// A reporter compares in its own process, and hands over each table as soon as it is complete.
type reporter interface {
	bench
	report(ctx context.Context, table func(figures.Table) error) error
}

// printed is a header, a measurement or a table, which writes itself for a person.
type printed interface{ Print(io.Writer) error }

func newHeader() figures.Header {
	return figures.Header{
		Side: "tandem", Threads: mlx.Threads(), BLAS: mlx.BLAS(),
		Versions: map[string]string{"mlx": mlx.Version(), "go": runtime.Version()},
	}
}

// Run measures once and prints the result. With Wait it does so for each line of In.
func (b Bench) Run(ctx context.Context, o Options) error {
	run, err := b.open(ctx, o)
	if err != nil {
		return fmt.Errorf("bench %s: %w", b.Name, err)
	}
	defer run.Close()
	print := func(v printed) error { return v.Print(o.Out) }
	if o.JSON {
		print = func(v printed) error { return json.NewEncoder(o.Out).Encode(v) }
	}
	if err := print(run.header()); err != nil {
		return err
	}
	m, ok := run.(measurer)
	if !ok {
		if o.Wait {
			return fmt.Errorf("bench %s compares by itself; leave out --wait", b.Name)
		}
		table := func(t figures.Table) error { return print(t) }
		switch run := run.(type) {
		case reporter:
			err = run.report(ctx, table)
		case evaluator:
			err = evaluate(ctx, run, o, table)
		}
		if err != nil {
			return fmt.Errorf("bench %s: %w", b.Name, err)
		}
		return nil
	}
	asked := bufio.NewScanner(o.In)
	for !o.Wait || asked.Scan() {
		metrics, err := m.measure(ctx)
		if err != nil {
			return fmt.Errorf("bench %s: %w", b.Name, err)
		}
		if err := print(metrics); err != nil || !o.Wait {
			return err
		}
	}
	return asked.Err()
}
