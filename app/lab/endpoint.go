package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/figures"
)

// An endpointBench measures what the endpoint costs, and how parallel requests are served. Each
// figure is compared with a bar.
type endpointBench struct {
	program string // file of tandem: some rows serve in a separate process
	version string // of that file, or ""
	open    OpenStage
	only    string    // rows whose name contains it; empty for all
	quick   bool      // few measurements, which miss no bar
	log     io.Writer // progress, for a person
	wrong   []error   // bars that were missed, and other faults
}

// An endpointRow is one measurement, with its own table.
type endpointRow struct {
	name  string // for --only
	apart bool   // a separate process serves
	run   func(context.Context) (figures.Table, error)
}

func (b *endpointBench) rows() []endpointRow {
	return []endpointRow{
		{"overhead", false, b.overhead}, {"schema", false, b.schema}, {"together", true, b.together},
		{"fair", true, b.fair}, {"fim", false, b.fim}, {"soak", true, b.soak},
	}
}

// endpointRowNames lists the rows for messages.
const endpointRowNames = "overhead, schema, together, fair, fim or soak"

type endpointOptions struct {
	open    OpenStage
	program string
	only    string
	quick   bool
}

// Flags implements Options.
func (o *endpointOptions) Flags(f *pflag.FlagSet) {
	tandemFlag(f, &o.program)
	bench.QuickFlag(f, &o.quick)
	f.StringVar(&o.only, "only", "", "only rows with this `TEXT` in their name: "+endpointRowNames)
}

// Open implements Options.
func (o *endpointOptions) Open(ctx context.Context, e bench.Env) (bench.Opened, error) {
	b := &endpointBench{open: o.open, program: o.program, only: o.only, quick: o.quick, log: e.Err}
	rows := slices.DeleteFunc(b.rows(), func(r endpointRow) bool {
		return !strings.Contains(r.name, b.only)
	})
	if len(rows) == 0 {
		return nil, fmt.Errorf("there is no row %q; there are %s", b.only, endpointRowNames)
	}
	if !slices.ContainsFunc(rows, func(r endpointRow) bool { return r.apart }) {
		return b, nil
	}
	var err error
	b.version, err = versionOf(ctx, b.program)
	return b, err
}

func (b *endpointBench) Header() figures.Header { return headerOf(b.version) }
func (b *endpointBench) Close() error           { return nil }

// Report measures row by row. It returns the missed bars as an error, after the last row.
func (b *endpointBench) Report(ctx context.Context, table func(figures.Table) error) error {
	for _, r := range b.rows() {
		if !strings.Contains(r.name, b.only) {
			continue
		}
		fmt.Fprintf(b.log, "\r%s ", r.name)
		began := time.Now()
		t, err := r.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintf(b.log, "\r%s, %.0f s \n", r.name, time.Since(began).Seconds())
		t.Title = r.name + ": " + t.Title
		if err := table(t); err != nil {
			return err
		}
	}
	return errors.Join(b.wrong...)
}

// repeats returns how often something is measured: few times in a quick run, else n times.
func (b *endpointBench) repeats(n, few int) int {
	if b.quick {
		return few
	}
	return n
}

// judge returns the cell of a bar. It keeps an error if the bar is missed.
func (b *endpointBench) judge(what string, m figures.Mark, v float64) string {
	switch {
	case b.quick:
		return m.String() + ", measured too seldom"
	case m.Met(v):
		return m.String() + " met"
	}
	b.wrong = append(b.wrong, fmt.Errorf("%s is %s; the bar is %s", what, figures.Format(v), m))
	return m.String() + " missed"
}

// postLines sends a request and calls line for each line of its answer. A line is valid until the
// next call.
func postLines(ctx context.Context, c *http.Client, url string, body any, line func([]byte)) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("%s: %s: %s", url, resp.Status, text)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if line != nil {
			line(lines.Bytes())
		}
	}
	return lines.Err()
}

// postWhole sends a request and decodes its answer, which comes in one piece.
func postWhole(ctx context.Context, c *http.Client, url string, body, answer any) error {
	var whole []byte
	err := postLines(ctx, c, url, body, func(line []byte) { whole = append(whole, line...) })
	if err != nil {
		return err
	}
	return json.Unmarshal(whole, answer)
}
