package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// An EndpointBench measures what the endpoint costs, and what becomes of requests
// that come at the same time, each held to a bar.
type EndpointBench struct {
	program string // this one, which serves where a row needs a process of its own
	open    func(ctx context.Context, drafter string) (Stage, error)
	only    string    // in the name of a row; empty for all
	Quick   bool      // few measurements, which miss no bar
	Log     io.Writer // progress, for a person
	wrong   []error   // bars that are missed, and what must not be
}

// An endpointRow is one thing that is measured.
type endpointRow struct {
	Name string // for --only
	run  func(context.Context) (BenchTable, error)
}

func (b *EndpointBench) Rows() []endpointRow {
	return []endpointRow{
		{"overhead", b.overhead}, {"schema", b.schema}, {"together", b.together}, {"fair", b.fair}, {"fim", b.fim}, {"soak", b.soak},
	}
}

// EndpointRowNames are for the help of --only.
const EndpointRowNames = "overhead, schema, together, fair, fim or soak"

func openEndpoint(_ context.Context, o Options) (bench, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &EndpointBench{open: o.Open, program: program, only: o.Only, Quick: o.Quick, Log: o.Err}
	for _, r := range b.Rows() {
		if strings.Contains(r.Name, b.only) {
			return b, nil
		}
	}
	return nil, fmt.Errorf("there is no row %q; there are %s", b.only, EndpointRowNames)
}

func (b *EndpointBench) header() benchHeader { return newBenchHeader() }
func (b *EndpointBench) Close() error        { return nil }

// report measures row by row. A bar that is missed is an error, behind the last of
// them.
func (b *EndpointBench) report(ctx context.Context, table func(BenchTable) error) error {
	for _, r := range b.Rows() {
		if !strings.Contains(r.Name, b.only) {
			continue
		}
		fmt.Fprintf(b.Log, "\r%s ", r.Name)
		began := time.Now()
		t, err := r.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		fmt.Fprintf(b.Log, "\r%s, %.0f s \n", r.Name, time.Since(began).Seconds())
		t.Title = r.Name + ": " + t.Title
		if err := table(t); err != nil {
			return err
		}
	}
	return errors.Join(b.wrong...)
}

// several is how often something is measured: few times are for seeing that it works.
func (b *EndpointBench) several(n, few int) int {
	if b.Quick {
		return few
	}
	return n
}

// A mark is what a figure is held to.
type mark struct {
	limit float64
	least bool // the limit is the least, not the most
}

func atMost(limit float64) mark  { return mark{limit: limit} }
func atLeast(limit float64) mark { return mark{limit: limit, least: true} }

func (m mark) String() string {
	side := "at most "
	if m.least {
		side = "at least "
	}
	return side + strconv.FormatFloat(m.limit, 'f', -1, 64)
}

// met reports whether a figure is on the right side.
func (m mark) met(v float64) bool {
	if m.least {
		return v >= m.limit
	}
	return v <= m.limit
}

// judge is the cell of a bar.
func (b *EndpointBench) judge(what string, m mark, v float64) string {
	switch {
	case b.Quick:
		return m.String() + ", measured too seldom"
	case m.met(v):
		return m.String() + " met"
	}
	b.wrong = append(b.wrong, fmt.Errorf("%s: %s, is to be %s", what, sensible(v), m))
	return m.String() + " missed"
}

// postLines sends a request and hands over the lines of its answer, which are gone
// when the next one comes.
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

// postWhole sends a request that is answered in one piece, and decodes the answer.
func postWhole(ctx context.Context, c *http.Client, url string, body, answer any) error {
	var whole []byte
	err := postLines(ctx, c, url, body, func(line []byte) { whole = append(whole, line...) })
	if err != nil {
		return err
	}
	return json.Unmarshal(whole, answer)
}
