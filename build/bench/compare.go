package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"tandem/app/figures"
	"tandem/build/setup"
)

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

// compare lets both sides measure in turns. If a row's interval contains its bar, it doubles the
// pairs once, and that result stands. The bars come from the rival's header, or else from ours.
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
