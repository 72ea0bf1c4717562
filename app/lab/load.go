package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/figures"
	"tandem/engine/mlx"
	"tandem/models"
)

// loadBar is how many GB of a file a second a load must reach.
const loadBar = 1.0

// How often each file is loaded, and about how large it is.
const (
	loads     = 5
	loadBytes = 1_000_000_000
)

// loadFiles are the files of the load bench.
var loadFiles = []struct {
	name string
	mix  ggufMix
}{
	{"Q4_K_M", q4KM},
	{"Q4_0", onlyKind(kindQ4_0)},
	{"Q4_1", onlyKind(kindQ4_1)},
	{"Q5_0", onlyKind(kindQ5_0)},
	{"Q5_1", onlyKind(kindQ5_1)},
	{"Q8_0", onlyKind(kindQ8_0)},
	{"Q4_K", onlyKind(kindQ4_K)},
	{"Q5_K", onlyKind(kindQ5_K)},
	{"IQ4_NL", onlyKind(kindIQ4NL)},
	{"IQ4_XS", onlyKind(kindIQ4XS)},
	{"IQ3_S", onlyKind(kindIQ3S)},
	{"IQ3_XXS", onlyKind(kindIQ3XX)},
	{"IQ2_XXS", onlyKind(kindIQ2XX)},
	{"IQ2_XS", onlyKind(kindIQ2XS)},
	{"IQ2_S", onlyKind(kindIQ2S)},
	{"MXFP4", onlyKind(kindMXFP4)},
	{"F16", onlyKind(kindF16)},
	{"BF16", onlyKind(kindBF16)},
	{"Q6_K", onlyKind(kindQ6_K)},
	{"Q3_K", onlyKind(kindQ3_K)},
	{"Q2_K", onlyKind(kindQ2_K)},
}

// A loadBench measures how fast GGUF files load. Each file is random, made here and removed.
type loadBench struct {
	thread *mlx.Thread
	shape  ggufShape
	bytes  int
	loads  int
	only   string
	log    io.Writer
	slow   []string // files below the bar
}

type loadOptions struct {
	only  string // files with it in their name
	quick bool
}

// Flags implements Options.
func (o *loadOptions) Flags(f *pflag.FlagSet) {
	bench.QuickFlag(f, &o.quick)
	f.StringVar(&o.only, "only", "", "only files with this `TEXT` in their name")
}

// Open implements Options.
func (o *loadOptions) Open(_ context.Context, e bench.Env) (bench.Opened, error) {
	t, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return nil, err
	}
	b := &loadBench{thread: t, shape: qwen17, bytes: loadBytes, loads: loads, only: o.only,
		log: e.Err}
	if o.quick {
		b.shape, b.bytes, b.loads = smallGGUF, 1<<20, 1
	}
	return b, nil
}

func (b *loadBench) Header() figures.Header {
	return bench.NewHeader("checkpoint")
}

func (b *loadBench) Close() error { return b.thread.Close() }

// Report measures file by file. Bars that were missed are its error.
func (b *loadBench) Report(ctx context.Context, table func(figures.Table) error) error {
	t := figures.Table{
		Title: "GGUF files",
		Columns: []string{"file", "GB", "in memory", "GB/s", "low", "high", "CPU s/GB", "loads",
			"reports", "at least"},
		Notes: []string{"GB/s and CPU s/GB count bytes of the file, which the system holds in memory. Reports are those of progress, in one load."},
	}
	for _, f := range loadFiles {
		if !strings.Contains(f.name, b.only) {
			continue
		}
		row, err := b.measure(ctx, f.name, f.mix)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return fmt.Errorf("no file has %q in its name", b.only)
	}
	if err := table(t); err != nil {
		return err
	}
	if len(b.slow) > 0 {
		return fmt.Errorf("%s loads at less than %.0f GB/s", strings.Join(b.slow, ", "), loadBar)
	}
	return nil
}

// measure writes a file and loads it several times. The first load is not counted.
func (b *loadBench) measure(ctx context.Context, name string, mix ggufMix) (row []any,
	err error) {
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "model.gguf")
	size, err := b.shape.write(path, mix, b.shape.layersFor(mix, b.bytes))
	if err != nil {
		return nil, err
	}
	gigabytes := float64(size) / 1e9
	var rates, cpu []float64
	var last load
	for i := range b.loads + 1 {
		if last, err = b.load(ctx, path); err != nil {
			return nil, err
		}
		if i > 0 {
			rates = append(rates, gigabytes/last.wall.Seconds())
			cpu = append(cpu, last.cpu.Seconds()/gigabytes)
		}
		fmt.Fprintf(b.log, "\rload %s, %d ", name, i)
	}
	fmt.Fprintln(b.log)
	e := figures.EstimateEach(rates)
	return []any{name, gigabytes, last.packing, e.Median, e.Low, e.High, figures.Median(cpu), e.N,
		last.reports, b.judge(name, e)}, nil
}

// judge returns the cell of the bar, and records a file that misses it.
func (b *loadBench) judge(name string, e figures.Estimate) string {
	switch {
	case e.N < loads:
		return fmt.Sprintf("%.2f, too few loads", loadBar)
	case e.Median < loadBar:
		b.slow = append(b.slow, name)
		return fmt.Sprintf("%.2f missed", loadBar)
	}
	return fmt.Sprintf("%.2f met", loadBar)
}

// A load has the times of one load.
type load struct {
	wall, cpu time.Duration
	packing   string // of the weights in memory
	reports   int    // of progress
}

// load loads a file and frees it.
func (b *loadBench) load(ctx context.Context, path string) (l load, err error) {
	o := bench.AsServed(models.Options{Dtype: models.DtypeCheckpoint,
		Progress: func(int64, int64) { l.reports++ }}, path, b.thread.GPU())
	runtime.GC()
	before, began := cpuTime(), time.Now()
	bundle, err := models.Load(ctx, b.thread, path, o)
	if err != nil {
		return l, err
	}
	l.wall, l.cpu = time.Since(began), cpuTime()-before
	l.packing = bundle.Info.Quantization
	if l.packing == "" {
		l.packing = "as it is"
	}
	return l, bundle.Close()
}

// cpuTime returns the time that all processors spent on this process, in its own code and in the
// system's.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
