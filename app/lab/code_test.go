package lab

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/models"
)

// tinyDrafts loads a random drafter for a subject, as `--drafter DIR` does.
func tinyDrafts(t *testing.T, e *subject) *bench.Drafters {
	t.Helper()
	d, err := bench.LoadDrafters(t.Context(), e.bundle, "tiny",
		[]string{enginetest.TinyDrafter(t, nil)}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCodeSweepsBlocks: blocks that the drafter cannot fill are left out, and drafts change no
// answer.
func TestCodeSweepsBlocks(t *testing.T) {
	for _, c := range []struct {
		probe string
		want  []string
	}{
		{"", []string{"plain", "dflash, block 4, trim, coupled", "dflash, block 8, trim, coupled"}},
		{probeFused, []string{"plain", "dflash, block 8, trim, coupled",
			"dflash, block 8, fused, trim, coupled"}},
	} {
		tables, reports, err := evaluated(t, "", func(env bench.Env) (evaluator, error) {
			e := loadSubject(t, "qwen3")
			return newCode(e, tinyDrafts(t, e), codeOptions{subjectOptions: quickly, probe: c.probe},
				env.Err), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		table := startsWith(t, tables, "code")
		for name := range tables {
			if strings.HasPrefix(name, "code: ") || strings.HasPrefix(name, "code, fused probe") {
				table = tables[name]
			}
		}
		for i, want := range c.want {
			if i >= len(table.Rows) || table.Rows[i][0] != want || table.Rows[i][5] != "2/2" {
				t.Fatalf("rows %v, want %v with all answers exact", table.Rows, c.want)
			}
			if blocks := table.Rows[i][4]; (blocks != nil) != (i > 0) {
				t.Errorf("%s verified %v blocks", want, blocks)
			}
		}
		for _, r := range reports {
			for i, row := range slices.Concat(r.Throughput.Cross.Rows, r.Throughput.Oracle.Rows) {
				if row.LoopedFrom == nil {
					t.Errorf("row %d does not say whether its answer loops", i)
				}
			}
			if r.Results.Cross.SystemUnderTest != evidence.Speculation || r.Gate.Recall != nil ||
				r.Results.Cross.Recall != nil {
				t.Errorf("%s is called %s, recall %v", r.Results.Cross.Name,
					r.Results.Cross.SystemUnderTest, r.Results.Cross.Recall)
			}
		}
		if len(reports) != len(c.want)-1 {
			t.Errorf("%d reports, want %d", len(reports), len(c.want)-1)
		}
	}
	b := &codeBench{}
	for _, c := range [][3]int{{0, 16, 15}, {4, 16, 3}, {99, 8, draft.Ngram{}.MaxDrafts()}} {
		if got := b.depth(draft.Ngram{}, c[0], c[1]); got != min(c[2], draft.Ngram{}.MaxDrafts()) {
			t.Errorf("a block of %d or %d has %d drafts", c[0], c[1], got)
		}
	}
}

// TestLoopsOfCodeAreCounted: the engine counts them in tokens, and one is enough to claim no
// speed-up.
func TestLoopsOfCodeAreCounted(t *testing.T) {
	e := loadSubject(t, "qwen3")
	b := newCode(e, tinyDrafts(t, e), codeOptions{}, io.Discard)
	t.Cleanup(func() { b.Close() })
	answer := func(decode time.Duration, blocks engine.Blocks) bench.Response {
		return bench.Response{IDs: bench.TokenIDs(40, 4000), Stats: engine.Stats{PromptTokens: 9, Decode: decode,
			FirstToken: time.Second, Blocks: blocks}}
	}
	drafted := b.ways[1]
	for range b.tasks {
		b.ways[0].answers = append(b.ways[0].answers, answer(2*time.Second, engine.Blocks{}))
		drafted.answers = append(drafted.answers, answer(time.Second, engine.Blocks{Count: 9, Tokens: 40}))
	}
	if r := b.run(drafted).Report(); r.Throughput.Speedup == nil || *r.Throughput.Speedup <= 1 {
		t.Errorf("without a loop: %+v", r.Throughput)
	}
	if notes := strings.Join(b.table().Notes, "; "); strings.Contains(notes, "loop") {
		t.Errorf("without a loop the table notes %q", notes)
	}
	b.ways[0].answers[3].Stats.Repeats, drafted.answers[3].Stats.Repeats = 12, 12
	if notes := strings.Join(b.table().Notes, "; "); !strings.Contains(notes, "1 of 8 plain answers") {
		t.Errorf("with a loop the table notes %q", notes)
	}
	r := b.run(drafted).Report()
	if reasons := strings.Join(r.Throughput.SpeedupWithheld, "; "); r.Throughput.Speedup != nil ||
		!strings.HasPrefix(reasons, "OUTPUT_DEGENERATE: 1 of 8 answers") {
		t.Errorf("with a loop: %v, withheld %q", r.Throughput.Speedup, reasons)
	}
	if from := r.Throughput.Cross.Rows[3].LoopedFrom; from == nil || *from != 12 {
		t.Errorf("its loop begins at %v", from)
	}
}

// TestNothingDraftedComparesNothing: a way without a block decoded as plain decoding does, so
// neither its speed nor its answers say anything about drafts. A cut-off answer is not a natural
// stop.
func TestNothingDraftedComparesNothing(t *testing.T) {
	e := loadSubject(t, "qwen3")
	b := newCode(e, tinyDrafts(t, e), codeOptions{}, io.Discard)
	t.Cleanup(func() { b.Close() })
	answer := bench.Response{IDs: bench.TokenIDs(16, 4000), Stats: engine.Stats{PromptTokens: 9,
		Decode: time.Second, FirstToken: time.Second, Finish: engine.FinishStop}}
	for _, w := range b.ways {
		w.answers = []bench.Response{answer, answer}
	}
	b.ways[2].answers[1].Stats.Blocks = engine.Blocks{Count: 3, Tokens: 9}
	table := b.table()
	if table.Rows[0][2] != 1.0 || table.Rows[1][2] != nil || table.Rows[2][2] != 1.0 {
		t.Errorf("times plain: %v", table.Rows)
	}
	if !slices.Contains(table.Notes,
		"nothing was drafted, so nothing is compared, in: dflash, block 4, trim, coupled") {
		t.Errorf("notes: %q", table.Notes)
	}
	s := &scorecard{code: b}
	if says := s.exactness(); says != "not measured: nothing was drafted" {
		t.Errorf("exactness: %s", says)
	}
	b.ways[1].answers[0].Stats.Blocks.Count = 1
	if says := s.exactness(); !strings.HasPrefix(says, "2 of 2 answers equal") {
		t.Errorf("exactness with drafts: %s", says)
	}
	if !strings.Contains(table.Title, "natural stop, at most 128 tokens") {
		t.Errorf("answers that ended have the title %q", table.Title)
	}
	b.ways[0].answers[1].Stats.Finish = engine.FinishLength
	if title := b.table().Title; !strings.Contains(title, "1 of 6 answers cut off at 128 tokens") {
		t.Errorf("a cut answer has the title %q", title)
	}
}

func TestUnknownProbeIsRefused(t *testing.T) {
	if _, err := (&codeOptions{probe: "eager"}).Open(t.Context(), bench.Env{}); err == nil ||
		!strings.Contains(err.Error(), "fused") {
		t.Errorf("the error is %v", err)
	}
}

// TestScorecardIsOnePage: recall, bytes, speed and exactness, each as admitted, and the oracle's
// recall whatever it is.
func TestScorecardIsOnePage(t *testing.T) {
	tables, reports, err := evaluated(t, t.TempDir(), func(env bench.Env) (evaluator, error) {
		e := loadSubject(t, "qwen3")
		e.terse = true
		s, err := newScorecard(e, tinyDrafts(t, e), scorecardOptions{subjectOptions: quickly}, env)
		if err == nil {
			s.tokens = 8
		}
		return s, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != 1 {
		t.Errorf("it prints %d tables", len(tables))
	}
	page := startsWith(t, tables, "scorecard")
	seen := map[string]string{}
	for _, row := range page.Rows {
		seen[row[0].(string)+" "+row[1].(string)] = row[2].(string)
	}
	for name, want := range map[string]string{
		"recall oracle":                            "0 of 1 needles found",
		"recall sink-window":                       "0.000 with bounded caches alone, oracle 0.000",
		"recall identity":                          "0.000 with restoration",
		"bytes sink-window":                        "less than full caches",
		"bytes identity":                           "more than full caches",
		"speed identity":                           "withheld: SPEEDUP_",
		"exactness identity":                       "1 of 1 answers equal",
		"exactness dflash, block 8, trim, coupled": "2 of 2 answers equal",
	} {
		if !strings.Contains(seen[name], want) {
			t.Errorf("%s: %q, want %q", name, seen[name], want)
		}
	}
	for name, says := range seen {
		if len(says) > 200 || strings.Contains(says, "measure at least") {
			t.Errorf("%s: a cell has a reason, which belongs below: %q", name, says)
		}
	}
	notes := "\n" + strings.Join(page.Notes, "\n") + "\n"
	for _, want := range []string{"\nspeed of sink-window; speed of identity: SPEEDUP_SAMPLES: the oracle has ",
		"\nthe oracle found no needle, so recall tells nothing here\n"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q: %s", want, notes)
		}
	}
	if len(reports) != 3 || len(page.Notes) < 3 {
		t.Errorf("%d reports, notes %q", len(reports), page.Notes)
	}
}
