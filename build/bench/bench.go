package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"tandem/app/figures"
	"tandem/build/program"
	"tandem/build/setup"
)

// slowPairs is the number of pairs of a bench whose pairs take over half a minute, unless a flag says
// fewer. Others have figures.MinPairs.
const slowPairs = 5

// A Run is one bench on one model.
type Run struct {
	Name  string // of a bench of tandem or tandem-lab
	Model string // folder or GGUF file, Starter, one of RandomModels, or empty for the pocket model
}

// LlamaCpp is the rival of the bench plain on a GGUF file, at the contexts of llamaContexts, in tokens.
const LlamaCpp = "llama.cpp"

var llamaContexts = []string{"300", "1500", "6000"}

// Suite lists the runs of the verb when it gets no name. What speculation and checkpoints save is
// judged on the starter: most texts of the pocket model loop, which flatters.
var Suite = []Run{
	{"plain", ""}, {"plain", Starter}, {"plain", largeModel}, {"plain", "qwen3_moe-100m"},
	{"plain", "qwen3_next-100m"}, {"plain", "gpt_oss-100m"}, {"plain", "gemma4-100m"},
	{"verify", Starter}, {"speculation", Starter},
	{"checkpoints", Starter}, {"checkpoints", ringModel}, {"checkpoints", hybridModel},
	{"contexts", Starter}, {"load", ""}, {"start", ""}, {"memory", Starter}, {"endpoint", ""},
	{"journey", ""}, {"recall", Starter}, {"recall", retrievalModel}, {"kvquant", Starter}, {"kvquant", retrievalModel},
	{"code", Starter}, {"code", retrievalModel}, {"drafter-parity", ""}, {"scorecard", Starter},
	{"scorecard", retrievalModel},
}

// ofTandem are the benches of tandem. All others are those of tandem-lab.
var ofTandem = []string{"plain", "verify", "speculation", "checkpoints"}

// serving are the benches that start a tandem.
var serving = []string{"start", "endpoint"}

// withoutModel are the benches that take no model.
var withoutModel = []string{"load", "start", "endpoint", "drafter-parity"}

// SuiteOn lists all benches. Each bench that takes a model gets this one.
func SuiteOn(model string) (runs []Run) {
	for _, r := range Suite {
		if r.Model = model; slices.Contains(withoutModel, r.Name) {
			r.Model = ""
		}
		if !slices.Contains(runs, r) {
			runs = append(runs, r)
		}
	}
	return runs
}

// String returns the run as a person types it.
func (r Run) String() string {
	if r.Model != "" {
		return "--model " + r.Model + " " + r.Name
	}
	return r.Name
}

// file returns the name of the file for the run's numbers.
func (r Run) file(against string) string {
	name := r.Name
	if r.Model != "" {
		name += "-" + filepath.Base(r.Model)
	}
	if against != "" {
		name += "-against-" + against
	}
	return name
}

// program returns the program that has the bench.
func (r Run) program(of program.Programs) string {
	if r.StartsLab() {
		return of.Lab
	}
	return of.Tandem
}

// StartsTandem reports whether the run starts tandem, to measure or to serve.
func (r Run) StartsTandem() bool {
	return slices.Contains(ofTandem, r.Name) || slices.Contains(serving, r.Name)
}

// StartsLab reports whether the run starts tandem-lab.
func (r Run) StartsLab() bool { return !slices.Contains(ofTandem, r.Name) }

// RunAll runs one bench after the other and returns the errors of the failed ones. A failure does
// not stop the others. against is LlamaCpp, or empty for the usual rivals. pairs is 0 for the usual number.
// passed are flags for benches without a rival.
func RunAll(
	ctx context.Context, b *setup.Builder, of program.Programs, runs []Run, against string, pairs int,
	passed []string,
) error {
	var errs []error
	for _, r := range runs {
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		fmt.Fprintf(b.Out, "bench %s\n", r)
		if err := bench(ctx, b, of, r, against, pairs, passed); err != nil {
			errs = append(errs, fmt.Errorf("bench %s: %w", r, err))
		}
	}
	return errors.Join(errs...)
}

// bench runs one bench, prints its table and writes build/out/bench/NAME.json.
func bench(
	ctx context.Context, b *setup.Builder, of program.Programs, r Run, against string, pairs int,
	passed []string,
) error {
	result := filepath.Join(b.Root, "build", "out", "bench", r.file(against)+".json")
	if err := os.MkdirAll(filepath.Dir(result), 0o755); err != nil {
		return err
	}
	on, err := benchModel(ctx, b, r, against)
	if err != nil {
		return err
	}
	ours := func(flags ...string) *exec.Cmd {
		args := append([]string{"bench", r.Name, "--json"}, flags...)
		if on.ours != "" {
			args = append(args, "--model", on.ours)
		}
		if slices.Contains(serving, r.Name) {
			args = append(args, "--tandem", of.Tandem)
		}
		return b.Command(ctx, r.program(of), args...)
	}
	rival := filepath.Join("build", "bench", r.Name+".py")
	if _, err := os.Stat(filepath.Join(b.Root, rival)); err != nil {
		cmd := ours(r.flags(on, pairs, passed)...)
		cmd.Stderr = os.Stderr // shows its progress, or the flags that it refuses
		text, failed := runAlone(b, cmd)
		// Exit code 1 means a missed bar, and its output is kept. After any other failure or an
		// interruption, the numbers of the run before stay.
		ended, _ := errors.AsType[*exec.ExitError](failed)
		if text == nil || ctx.Err() != nil || failed != nil &&
			(ended == nil || ended.ExitCode() != 1) {
			return failed
		}
		return errors.Join(failed, os.WriteFile(result, text, 0o644))
	}
	if len(passed) > 0 {
		return fmt.Errorf("a bench with a rival takes no %s", passed[0])
	}
	least, flags := figures.MinPairs, []string{"--wait"}
	if r.Name == "contexts" || against == LlamaCpp {
		least = slowPairs
	}
	var theirs *exec.Cmd
	if against == LlamaCpp {
		for _, n := range llamaContexts {
			flags = append(flags, "--context", n)
		}
		theirs, err = llamaCpp(ctx, b, on.rival)
	} else {
		theirs, err = mlxLM(ctx, b, rival, on.rival)
	}
	if err != nil {
		return err
	}
	report, err := compare(ctx, b, cmp.Or(pairs, least), ours(flags...), theirs)
	if err != nil {
		return err
	}
	report.Name = r.file(against)
	if err := report.print(b.Out); err != nil {
		return err
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(result, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return report.verdict()
}

// mlxLM returns the command that measures mlx_lm by a script.
func mlxLM(ctx context.Context, b *setup.Builder, script, model string) (*exec.Cmd, error) {
	python, err := b.ReferencePython(ctx)
	if err != nil {
		return nil, err
	}
	cmd := withThreads(b.Command(ctx, python, script))
	if model != "" {
		cmd.Env = append(cmd.Env, "TANDEM_BENCH_MODEL="+model)
	}
	return withOpenBLAS(ctx, b, cmd), nil
}

// llamaCpp returns the command that measures llama.cpp on a GGUF file.
func llamaCpp(ctx context.Context, b *setup.Builder, model string) (*exec.Cmd, error) {
	if filepath.Ext(model) != ".gguf" {
		return nil, fmt.Errorf("llama.cpp reads GGUF files alone; add --model %s or --model FILE.gguf", Starter)
	}
	python, err := b.Venv(ctx, setup.Venv{Name: "llamacpp", Requirements: "build/bench/llamacpp.txt"})
	if err != nil {
		return nil, err
	}
	cmd := withThreads(b.Command(ctx, python,
		append([]string{filepath.Join("build", "bench", "llamacpp.py")}, llamaContexts...)...))
	cmd.Env = append(cmd.Env, "TANDEM_BENCH_MODEL="+model)
	return cmd, nil
}

// drafting are the benches that measure drafts. The Starter's draft model restores no rows, so recall
// has no use for it.
var drafting = []string{"verify", "speculation", "journey", "code", "scorecard"}

// flags returns the flags of our program for a bench without a rival, besides its model.
func (r Run) flags(on model, pairs int, passed []string) []string {
	flags := slices.Clone(passed)
	if pairs > 0 {
		flags = append(flags, "--pairs", strconv.Itoa(pairs))
	}
	if slices.Contains(drafting, r.Name) && on.drafter != "" && !slices.Contains(passed, "--drafter") {
		flags = append(flags, "--drafter", on.drafter)
	}
	return flags
}

// withOpenBLAS makes MLX's Python wheel use the BLAS that our own program is linked with.
func withOpenBLAS(ctx context.Context, b *setup.Builder, cmd *exec.Cmd) *exec.Cmd {
	if runtime.GOOS == "linux" {
		if path, err := b.Output(b.Command(ctx, "cc",
			"-print-file-name=libopenblas.so.0")); err == nil {
			cmd.Env = append(cmd.Env, "LD_PRELOAD="+filepath.Clean(path))
		}
	}
	return cmd
}

// withThreads gives a rival as many threads as our own program has.
func withThreads(cmd *exec.Cmd) *exec.Cmd {
	const threads = "OPENBLAS_NUM_THREADS="
	if runtime.GOOS == "linux" && !slices.ContainsFunc(cmd.Env,
		func(v string) bool { return strings.HasPrefix(v, threads) }) {
		cmd.Env = append(cmd.Env, fmt.Sprint(threads, runtime.GOMAXPROCS(0)))
	}
	return cmd
}
