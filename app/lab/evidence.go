package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/app/home"
)

// An evaluator measures figures that others quote. It returns what it measured, never a claim: the
// gate derives each report, and withholds what it does not admit.
type evaluator interface {
	bench.Opened
	evaluate(ctx context.Context, table func(figures.Table) error, report reporting) error
}

// A reporting function gets what was measured, under the title of its table.
type reporting func(title string, run measuredRun) error

// A measuredRun is an evidence.Run, or a quiet one.
type measuredRun interface {
	Report() *evidence.Report
}

// A gated bench is an evaluator whose reports pass the gate.
type gated struct {
	evaluator
	file string // for the reports, or ""
}

// reportsFlag declares --out.
func reportsFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "out", "",
		"write the reports to this `FILE`; `tandem-lab evidence check` reads them")
}

// Report implements Reporter. It prints a table of each report's claims, and writes the reports to
// the file. A report that the gate refuses is written too, and becomes an error at the end.
func (g gated) Report(ctx context.Context, table func(figures.Table) error) error {
	var reports, refused []string
	err := g.evaluate(ctx, table, func(title string, run measuredRun) error {
		r := run.Report()
		for _, v := range evidence.Check(r) {
			refused = append(refused, title+": "+v.String())
		}
		if g.file != "" {
			text, err := reportText(r)
			if err != nil {
				return err
			}
			reports = append(reports, text)
			if err := home.WritePrivate(g.file, strings.Join(reports, "")); err != nil {
				return err
			}
		}
		if _, ok := run.(quiet); ok {
			return nil
		}
		return table(claims(title, evidence.HeadlineOf(r)))
	})
	if len(refused) > 0 {
		err = errors.Join(err, fmt.Errorf("the gate does not admit:\n  %s",
			strings.Join(refused, "\n  ")))
	}
	return err
}

// claims returns the table of a headline.
func claims(title string, h evidence.Headline) figures.Table {
	t := figures.Table{Title: title, Columns: []string{"claim", "as admitted"}}
	var against reasons
	for name, c := range h.All() {
		against.add(name, c)
		t.Rows = append(t.Rows, []any{name, c.Brief()})
	}
	t.Notes = against.notes()
	if len(t.Rows) == 0 {
		t.Notes = append(t.Notes, "It claims nothing.")
	}
	return t
}
