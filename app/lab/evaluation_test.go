package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine/enginetest"
	"tandem/models"
)

// loadSubject loads a tiny random model with a random drafter and a random f_theta. The caller closes
// it.
func loadSubject(t *testing.T, shape string, fields ...map[string]any) *subject {
	t.Helper()
	dir := enginetest.TinyModel(t, shape, fields...)
	th := enginetest.NewThread(t)
	b, err := bench.LoadModel(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &subject{thread: th, bundle: b, name: "tiny"}
}

// quickly are the options of an evaluation that measures little.
var quickly = subjectOptions{quick: true}

// An evaluation opens an evaluator that a test made.
type evaluation struct {
	open func(bench.Env) (evaluator, error)
	file string // for the reports
}

func (evaluation) Flags(*pflag.FlagSet) {}

func (o evaluation) Open(_ context.Context, e bench.Env) (bench.Opened, error) {
	v, err := o.open(e)
	return gated{v, o.file}, err
}

// evaluated runs an evaluation and returns its tables and its reports, all admitted. It keeps figures in
// a home folder.
func evaluated(t *testing.T, home string, open func(bench.Env) (evaluator, error)) (
	tables map[string]figures.Table, reports []*evidence.Report, err error) {
	t.Helper()
	var out, log bytes.Buffer
	file := filepath.Join(t.TempDir(), "reports.json")
	run := bench.Run{Name: "evaluation", Options: evaluation{open, file}, JSON: true}
	err = run.Do(t.Context(), bench.Env{Home: home, Out: &out, Err: &log})
	tables = map[string]figures.Table{}
	for line := range strings.Lines(out.String()) {
		var table figures.Table
		if json.Unmarshal([]byte(line), &table) == nil && table.Title != "" {
			tables[table.Title] = table
		}
	}
	f, openErr := os.Open(file)
	if openErr != nil {
		t.Fatal(err, openErr)
	}
	defer f.Close()
	reports, readErr := evidence.Read(f)
	if readErr != nil {
		t.Fatal(readErr)
	}
	for _, r := range reports {
		if refused := evidence.Check(r); len(refused) > 0 {
			t.Errorf("%s: %s", r.Results.Cross.Name, refused[0])
		}
	}
	return tables, reports, err
}

// startsWith returns the table whose title begins so.
func startsWith(t *testing.T, tables map[string]figures.Table, title string) figures.Table {
	t.Helper()
	for name, table := range tables {
		if strings.HasPrefix(name, title) {
			return table
		}
	}
	t.Fatalf("there is no table %q", title)
	return figures.Table{}
}

// cellOf returns the value in the column of the row that begins so.
func cellOf(t *testing.T, b figures.Table, row, column string) any {
	t.Helper()
	i := slices.IndexFunc(b.Rows, func(r []any) bool { return r[0] == row })
	j := slices.Index(b.Columns, column)
	if i < 0 || j < 0 {
		t.Fatalf("%s: no row %q with %q in %v", b.Title, row, column, b.Rows)
	}
	return b.Rows[i][j]
}
