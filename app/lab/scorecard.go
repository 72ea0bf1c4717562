package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine/restore"
)

// A scorecard is one page on a model: recall, bytes, speed and exactness, each as far as the gate
// admits it.
type scorecard struct {
	*recall
	code *codeBench
}

// The sizes of its code tasks. Answers are short, so that the page takes minutes, and long enough
// for a speed-up to be admitted.
const (
	scorecardBlock  = 8  // rows
	scorecardTokens = 64 // of an answer, at most
)

type scorecardOptions struct {
	subjectOptions
	samples int // 0 = recallSamples
}

// Flags implements Options.
func (o *scorecardOptions) Flags(f *pflag.FlagSet) {
	o.subjectOptions.Flags(f)
	o.drafterFlag(f)
	samplesFlag(f, &o.samples)
}

// Open implements Options.
func (o *scorecardOptions) Open(ctx context.Context, e bench.Env) (bench.Opened, error) {
	s, drafts, err := openDrafted(ctx, o.subjectOptions)
	if err != nil {
		return nil, err
	}
	card, err := newScorecard(s, drafts, *o, e)
	return gated{card, o.reports}, err
}

// newScorecard measures a loaded subject with its drafters. Its Close closes both.
func newScorecard(e *subject, drafts *bench.Drafters, o scorecardOptions, env bench.Env) (*scorecard, error) {
	r, err := newRecall(e, recallOptions{subjectOptions: o.subjectOptions, samples: o.samples}, env)
	if err != nil {
		return nil, errors.Join(err, drafts.Close())
	}
	r.keep(func(a *recallArm) bool {
		return !a.forced && a.name != restore.NativeBypass && a.name != exactLayers+armIdentity
	})
	return &scorecard{r, newCode(e, drafts, codeOptions{subjectOptions: o.subjectOptions,
		block: scorecardBlock, tokens: scorecardTokens}, env.Err)}, nil
}

// keep closes the arms for which wanted returns false.
func (r *recall) keep(wanted func(*recallArm) bool) {
	r.arms = slices.DeleteFunc(r.arms, func(a *recallArm) bool {
		if wanted(a) {
			return false
		}
		if a.engine != nil {
			a.engine.Close()
		}
		return true
	})
}

func (s *scorecard) Header() figures.Header { return s.recall.Header() }

func (s *scorecard) Close() error {
	for _, a := range s.recall.arms {
		if a.engine != nil {
			a.engine.Close()
		}
	}
	return s.code.Close()
}

// A pageRow is one figure of the page.
type pageRow struct{ what, of, says string }

// evaluate measures the parts and prints only the page. The reports of all parts pass the gate, and
// the page has what it admits.
func (s *scorecard) evaluate(ctx context.Context, table func(figures.Table) error,
	report reporting) error {
	var page []pageRow
	var against reasons
	silent := func(figures.Table) error { return nil }
	kept := func(title string, run measuredRun) error {
		r := run.Report()
		h := evidence.HeadlineOf(r)
		name := r.Results.Cross.Name
		claimed := func(what string, c evidence.Claim) {
			against.add(what+" of "+name, c)
			page = append(page, pageRow{what, name, briefly(c)})
		}
		if r.Kind == evidence.KindRecall {
			claimed("recall", h.Recall)
		} else {
			page = append(page, pageRow{"exactness", name, s.exactness()})
		}
		claimed("speed", h.Speedup)
		if r.Memory != nil {
			claimed("bytes", h.Memory)
		}
		return report(title, quiet{run})
	}
	if err := s.recall.measure(ctx, haystacks[0], silent, kept); err != nil {
		return err
	}
	page = append(page, s.oracleRow(), s.identityRow())
	if err := s.code.evaluate(ctx, silent, kept); err != nil {
		return err
	}
	t := s.page(page)
	t.Notes = append(t.Notes, against.notes()...)
	saved := s.recall.saved(haystacks[1])
	for _, row := range saved.Rows {
		says := fmt.Sprint(row[2])
		if at := row[1]; at != nil {
			says = fmt.Sprintf("%s, measured %s", says, at)
		}
		t.Rows = append(t.Rows, []any{"recall, " + haystacks[1].name, row[0], says})
	}
	t.Notes = append(t.Notes, saved.Notes...)
	return table(t)
}

// exactness says how many answers with drafts equal plain ones, if anything was drafted.
func (s *scorecard) exactness() string {
	drafted := s.code.ways[1]
	if drafted.blocks().Count == 0 {
		return "not measured: nothing was drafted"
	}
	return fmt.Sprintf("%d of %d answers equal plain decoding's, token by token",
		drafted.exact(s.code.ways[0]), len(drafted.answers))
}

// A quiet run is on the page, so its claims are not printed separately.
type quiet struct{ measuredRun }

// oracleRow prints the recall of full caches, whatever it is.
func (s *scorecard) oracleRow() pageRow {
	o := s.recall.arms[0]
	return pageRow{"recall", armOracle, fmt.Sprintf("%d of %d needles found with full caches",
		foundIn(o.samples), len(o.samples))}
}

// identityRow says whether restored rows that are the model's own change its answers.
func (s *scorecard) identityRow() pageRow {
	row := pageRow{"exactness", armIdentity, "not measured"}
	for _, a := range s.recall.arms {
		if a.name != armIdentity {
			continue
		}
		same := 0
		for i, ids := range a.ids {
			if slices.Equal(ids, s.recall.arms[0].ids[i]) {
				same++
			}
		}
		row.says = fmt.Sprintf("%d of %d answers equal the oracle's, token by token", same, len(a.ids))
	}
	return row
}

// page orders the rows by subject.
func (s *scorecard) page(rows []pageRow) figures.Table {
	sink, window := s.recall.bounds()
	t := figures.Table{Title: "scorecard: " + s.recall.name, Columns: []string{"what", "of", "as admitted"},
		Notes: []string{s.recall.conditions(),
			fmt.Sprintf("recall: %d prompts of %s, seed %d, bounded layers keep %d + %d rows of their own; speed: %d code tasks; %s",
				s.recall.samples, haystacks[0].name, needleSeed, sink, window, len(s.code.tasks),
				s.recall.now().UTC().Format("2006-01-02 15:04 MST")),
			"speed of recall's arms is end to end against the oracle, speed of drafts against plain decoding"}}
	t.Notes = append(t.Notes, s.recall.blindNote(s.recall.arms[0].samples)...)
	for _, what := range []string{"recall", "bytes", "speed", "exactness"} {
		for _, r := range rows {
			if r.what == what {
				t.Rows = append(t.Rows, []any{r.what, r.of, strings.TrimSpace(r.says)})
			}
		}
	}
	return t
}
