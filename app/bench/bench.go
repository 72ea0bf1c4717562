package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/pflag"

	"tandem/app/figures"
	"tandem/engine/mlx"
)

// A Bench is one thing that can be measured.
type Bench struct {
	Name string
	Doc  string // one line
	New  func() Options
}

// Options are the options of one bench on the command line.
type Options interface {
	// Flags declares a flag for each option.
	Flags(f *pflag.FlagSet)
	// Open opens the bench. The caller closes it.
	Open(ctx context.Context, e Env) (Opened, error)
}

// An Env is what the program gives to every bench.
type Env struct {
	Home     string // where benches keep their figures; empty = nowhere
	In       io.Reader
	Out, Err io.Writer // Err is for progress
}

// An Opened bench is a [Measurer] or a [Reporter].
type Opened interface {
	Header() figures.Header
	Close() error
}

// A Measurer measures on each call, in turns with a rival.
type Measurer interface {
	Opened
	Measure(ctx context.Context) (figures.Metrics, error)
}

// A Reporter compares in its own process, and reports each table as soon as it is complete.
type Reporter interface {
	Opened
	Report(ctx context.Context, table func(figures.Table) error) error
}

// NewHeader returns the header of this program, with the type that a model computes in; empty = no
// model.
func NewHeader(dtype string) figures.Header {
	return figures.Header{
		Side: "tandem", DType: dtype, Threads: mlx.Threads(), BLAS: mlx.BLAS(),
		Versions: map[string]string{"mlx": mlx.Version(), "go": runtime.Version()},
	}
}

// A Run is a bench with the options of a command line.
type Run struct {
	Name    string
	Options Options
	JSON    bool // lines of JSON, a header first
	Wait    bool // measure once for each line of Env.In, until it ends
}

// NewRun declares the flags of a bench. The run has their values when f is parsed.
func (b Bench) NewRun(f *pflag.FlagSet) *Run {
	r := &Run{Name: b.Name, Options: b.New()}
	f.BoolVar(&r.JSON, "json", false, "lines of JSON, a header first")
	f.BoolVar(&r.Wait, "wait", false, "measure once for each line on standard input")
	r.Options.Flags(f)
	return r
}

// Do measures and prints the result.
func (r *Run) Do(ctx context.Context, e Env) error {
	if err := r.measure(ctx, e); err != nil {
		return fmt.Errorf("bench %s: %w", r.Name, err)
	}
	return nil
}

// printed is a header, a measurement or a table, which writes itself as text.
type printed interface{ Print(io.Writer) error }

func (r *Run) measure(ctx context.Context, e Env) error {
	b, err := r.Options.Open(ctx, e)
	if err != nil {
		return err
	}
	defer b.Close()
	print := func(v printed) error { return v.Print(e.Out) }
	if r.JSON {
		print = func(v printed) error { return json.NewEncoder(e.Out).Encode(v) }
	}
	if err := print(b.Header()); err != nil {
		return err
	}
	switch b := b.(type) {
	case Reporter:
		if r.Wait {
			return errors.New("it compares by itself; leave out --wait")
		}
		return b.Report(ctx, func(t figures.Table) error { return print(t) })
	case Measurer:
		asked := bufio.NewScanner(e.In)
		for !r.Wait || asked.Scan() {
			metrics, err := b.Measure(ctx)
			if err != nil {
				return err
			}
			if err := print(metrics); err != nil || !r.Wait {
				return err
			}
		}
		return asked.Err()
	}
	return fmt.Errorf("it measures nothing: %T", b)
}
