package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/app/figures"
	"tandem/build/program"
	"tandem/build/setup"
)

// slowPairs is the number of pairs of a bench whose pairs take over half a minute, unless a flag says
// fewer. Others have figures.MinPairs.
const slowPairs = 5

// A benchRow compares one metric. Ratio is above 1 where tandem is better.
type benchRow struct {
	Metric string  `json:"metric"`
	Ours   float64 `json:"ours"`  // median
	Rival  float64 `json:"rival"` // median
	Ratio  float64 `json:"ratio"` // median of the pairs' ratios
	Low    float64 `json:"low"`   // bootstrap 95 % interval of that median
	High   float64 `json:"high"`
	Bar    float64 `json:"bar,omitzero"`
	Met    *bool   `json:"met,omitempty"`
}

type benchPair struct{ ours, rival float64 }

// A benchReport is the content of build/out/bench/NAME.json.
type benchReport struct {
	Name        string           `json:"name"`
	Date        time.Time        `json:"date"`
	Machine     string           `json:"machine"`
	Sides       []figures.Header `json:"sides"`
	TokensEqual *bool            `json:"tokens_equal,omitempty"` // nil if the rival lists none: it rounds otherwise
	Pairs       int              `json:"pairs"`
	Rows        []benchRow       `json:"rows"`
	Own         figures.Metrics  `json:"own,omitempty"` // medians of what tandem alone measures
}

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

// compare lets both sides measure in turns. If a row's interval contains its bar, it doubles the
// pairs once, and that result stands. Bars are those that the rival names, or else ours.
func compare(
	ctx context.Context, b *setup.Builder, pairs int, oursCmd, rivalCmd *exec.Cmd,
) (*benchReport, error) {
	ours, err := startSide(oursCmd)
	if err != nil {
		return nil, err
	}
	defer ours.close()
	rival, err := startSide(rivalCmd)
	if err != nil {
		return nil, err
	}
	defer rival.close()
	report := &benchReport{
		Date:    time.Now().UTC().Truncate(time.Second),
		Machine: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Sides:   []figures.Header{ours.header, rival.header},
		Own:     figures.Metrics{},
	}
	if len(rival.header.Tokens) > 0 {
		report.TokensEqual = new(slices.Equal(ours.header.Tokens, rival.header.Tokens))
	}
	bars := rival.header.Bars
	if bars == nil {
		bars = ours.header.Bars
	}
	samples, own := map[string][]benchPair{}, map[string][]float64{}
	for _, doubled := range []bool{false, true} {
		for range pairs {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err := measurePair(ours, rival, samples, own); err != nil {
				return nil, err
			}
			report.Pairs++
			fmt.Fprintf(b.Out, "\rpair %d ", report.Pairs)
		}
		report.Rows = compareRows(samples, bars)
		if doubled || !slices.ContainsFunc(report.Rows, benchRow.undecided) {
			break
		}
	}
	fmt.Fprintln(b.Out)
	for metric, values := range own {
		report.Own[metric] = figures.Median(values)
	}
	return report, errors.Join(ours.close(), rival.close())
}

// measurePair takes one measurement of ours, then one of the rival, and adds both to samples. What the rival
// does not measure goes to own.
func measurePair(ours, rival *benchSide, samples map[string][]benchPair, own map[string][]float64) error {
	a, err := ours.measure()
	if err != nil {
		return err
	}
	r, err := rival.measure()
	if err != nil {
		return err
	}
	for metric, x := range a {
		if y, ok := r[metric]; ok {
			samples[metric] = append(samples[metric], benchPair{x, y})
		} else {
			own[metric] = append(own[metric], x)
		}
	}
	return nil
}

// compareRows computes a row per metric, in alphabetical order.
func compareRows(samples map[string][]benchPair, bars map[string]float64) []benchRow {
	var rows []benchRow
	for _, metric := range slices.Sorted(maps.Keys(samples)) {
		row := benchRow{Metric: metric, Bar: bars[metric]}
		var ours, rival, ratios []float64
		for _, p := range samples[metric] {
			ours, rival = append(ours, p.ours), append(rival, p.rival)
			ratio := p.ours / p.rival
			if !strings.HasSuffix(metric, "_per_second") { // a smaller cost is better
				ratio = p.rival / p.ours
			}
			ratios = append(ratios, ratio)
		}
		e := figures.EstimateEach(ratios)
		row.Ours, row.Rival = figures.Median(ours), figures.Median(rival)
		row.Ratio, row.Low, row.High = e.Median, e.Low, e.High
		if row.Bar != 0 {
			row.Met = new(row.Ratio >= row.Bar)
		}
		rows = append(rows, row)
	}
	return rows
}

// undecided reports whether the interval contains the bar.
func (r benchRow) undecided() bool {
	return r.Bar != 0 && r.Low <= r.Bar && r.Bar <= r.High
}

// verdict returns an error if the comparison says nothing or missed a bar.
func (r *benchReport) verdict() error {
	if r.TokensEqual != nil && !*r.TokensEqual {
		return errors.New("the sides generated different tokens, so their times do not compare")
	}
	var errs []error
	for _, row := range r.Rows {
		if row.Met != nil && !*row.Met {
			errs = append(errs,
				fmt.Errorf("%s is %.3f times as good as the rival's; the bar is %.2f times",
					row.Metric, row.Ratio, row.Bar))
		}
	}
	return errors.Join(errs...)
}

// print writes the report for a person.
func (r *benchReport) print(w io.Writer) error {
	for _, s := range r.Sides {
		if err := s.Print(w); err != nil {
			return err
		}
	}
	t := figures.Table{
		Title:   fmt.Sprintf("pairs: %d", r.Pairs),
		Columns: []string{"metric", "tandem", "rival", "ratio", "95 % interval", "at least"},
	}
	if r.TokensEqual != nil {
		t.Title = fmt.Sprintf("first tokens equal: %t, %s", *r.TokensEqual, t.Title)
	}
	for _, row := range r.Rows {
		bar := ""
		if row.Met != nil {
			bar = fmt.Sprintf("%.2f missed", row.Bar)
			if *row.Met {
				bar = fmt.Sprintf("%.2f met", row.Bar)
			}
		}
		t.Rows = append(t.Rows, []any{row.Metric, row.Ours, row.Rival,
			fmt.Sprintf("%.3f", row.Ratio), fmt.Sprintf("%.3f to %.3f", row.Low, row.High), bar})
	}
	return errors.Join(t.Print(w), r.Own.Print(w))
}

// A benchSide is one running process of a comparison.
type benchSide struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	header figures.Header
	closed bool
}

// startSide starts a process and reads its header.
func startSide(cmd *exec.Cmd) (*benchSide, error) {
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &benchSide{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}
	if err := s.read(&s.header); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// measure lets the side take one measurement.
func (s *benchSide) measure() (map[string]float64, error) {
	if _, err := io.WriteString(s.stdin, "go\n"); err != nil {
		return nil, fmt.Errorf("%s: %w", s.header.Side, err)
	}
	var metrics map[string]float64
	return metrics, s.read(&metrics)
}

func (s *benchSide) read(v any) error {
	line, err := s.stdout.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s ended: %w", strings.Join(s.cmd.Args, " "), err)
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("%s: %w in %q", strings.Join(s.cmd.Args, " "), err, line)
	}
	return nil
}

// close ends the side and waits for it. A second call does nothing.
func (s *benchSide) close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.stdin.Close()
	return s.cmd.Wait()
}
