package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/engine"
)

func TestEstimateIsTheMedianWithItsInterval(t *testing.T) {
	var values, fours [][]float64
	for i := range 41 {
		values = append(values, []float64{1 + float64(i-20)/100})
		fours = append(fours, slices.Repeat(values[i], 4))
	}
	e := estimateOf(values)
	if e.median != 1 || e.n != 41 || e.prompts != 41 {
		t.Errorf("median %v of %d, %d prompts", e.median, e.n, e.prompts)
	}
	// The order statistics that bound the median with 95 %: the 14th and 28th of 41, give or take
	// one.
	if math.Abs(e.low-0.93) > 0.015 || math.Abs(e.high-1.07) > 0.015 {
		t.Errorf("interval %v to %v", e.low, e.high)
	}
	if again := estimateOf(values); again != e {
		t.Errorf("the same values give %v, then %v", e, again)
	}
	// Four answers to every prompt make the estimate no surer.
	if f := estimateOf(fours); f != (estimate{e.median, e.low, e.high, 164, 41}) {
		t.Errorf("each once %v, four times %v", e, f)
	}
	if e := estimateOf(nil); e != (estimate{}) {
		t.Errorf("the estimate of no values is %v", e)
	}
	if m := middle([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("the median of four values is %v, want 2.5", m)
	}
}

func TestBarJudgesTheMedian(t *testing.T) {
	for _, test := range []struct {
		bar       bar
		estimate  estimate
		want      string
		undecided bool
	}{
		{bar{1.5, 2}, estimate{1.4, 1.3, 1.45, 20, 8}, "1.50 missed", false},
		{bar{1.5, 2}, estimate{1.4, 1.3, 1.55, 20, 8}, "1.50 missed", true},
		{bar{1.5, 2}, estimate{1.5, 1.4, 1.6, 20, 8}, "1.50 met, aim 2.0 not", true},
		{bar{1.5, 2}, estimate{2.1, 1.9, 2.2, 20, 8}, "1.50 met, aim 2.0 too", false},
		{bar{0.97, 0}, estimate{0.98, 0.975, 0.99, 20, 8}, "0.97 met", false},
		{bar{0.97, 0}, estimate{}, "0.97 not measured", false},
		{bar{0.97, 0}, estimate{0.98, 0.975, 0.99, 19, 8}, "0.97, too few pairs", false},
		{bar{0.97, 0}, estimate{0.98, 0.975, 0.99, 40, 7}, "0.97, too few prompts", false},
		{bar{}, estimate{0.5, 0.1, 2, 20, 8}, "", false},
	} {
		got, _ := test.bar.judge(test.estimate).(string)
		if got != test.want || test.bar.undecided(test.estimate) != test.undecided {
			t.Errorf("%v of %v: %q, undecided %t", test.estimate, test.bar, got,
				test.bar.undecided(test.estimate))
		}
	}
}

// took returns a response of n tokens after the first, decoded in ms milliseconds.
func took(n, ms int) response {
	return response{ids: make([]int32, n+1),
		stats: engine.Stats{Decode: time.Duration(ms) * time.Millisecond}}
}

// against returns a comparison of a depth with plain decoding. ratios are percent, one a prompt.
func against(depth int, ratios ...int) *comparison {
	c := &comparison{two: way{drafter: "dflash", depth: depth}}
	for i, percent := range ratios {
		c.pairs = append(c.pairs, pair{i, took(100, 10*percent), took(100, 1000)})
	}
	return c
}

// The pairs double once if the interval contains the bar.
func TestPairsDoubleOnceWhereTheBarIsUndecided(t *testing.T) {
	for _, test := range []struct {
		name string
		bar  bar
		once bool
		want int // pairs
	}{
		{"clear", bar{least: 0.5}, false, 4},
		{"in doubt", bar{least: 1.2}, false, 8},
		{"in doubt, but once", bar{least: 1.2}, true, 4},
		{"no bar", bar{}, false, 4},
	} {
		c := &comparison{bar: test.bar}
		for c.needsPairs(4, test.once) {
			c.pairs = append(c.pairs, against(3, 100+40*(len(c.pairs)%2)).pairs[0])
		}
		if len(c.pairs) != test.want || c.doubled != (test.want == 8) {
			t.Errorf("%s: %d pairs, doubled %t", test.name, len(c.pairs), c.doubled)
		}
	}
}

// Only prompts of even index count.
func TestFastestIsChosenByEvenPrompts(t *testing.T) {
	slow, fast := against(1, 120, 900, 130, 900, 110, 900), against(7, 140, 10, 150, 10, 160, 10)
	if got, ratio := best([]*comparison{slow, fast}); got != fast || math.Abs(ratio-1.5) > 1e-9 {
		t.Errorf("%v at %v", got.two, ratio)
	}
	if _, ratio := best([]*comparison{against(1, 90, 200, 95, 200)}); ratio >= 1 {
		t.Errorf("the ratio is %v, but plain decoding is faster", ratio)
	}
	if got, ratio := best([]*comparison{{}}); got != nil || ratio != 0 {
		t.Errorf("without pairs the fastest is %v at %v", got, ratio)
	}
}

func TestFiguresTellRoundsWithDraftsFromPlainOnes(t *testing.T) {
	p := pair{one: took(100, 1000), two: took(100, 700)}
	p.two.stats.Rounds, p.two.stats.Syncs = 50, 51
	p.two.stats.Depths = slices.Concat(slices.Repeat([]int{3}, 30), make([]int, 20))
	p.two.stats.Drafted, p.two.stats.Accepted = 90, 50
	p.two.stats.Blocks = engine.Blocks{Count: 30, Tokens: 80, Total: 500 * time.Millisecond,
		Early: 160 * time.Millisecond, Max: 30 * time.Millisecond}
	c := &comparison{pairs: []pair{p, p}}
	f := c.figures()
	// 30 rounds with drafts and 20 plain ones of 10 ms.
	want := roundFigures{tokens: 80.0 / 30, drafts: 1.8, syncs: 1.02, step: 10, round: 500.0 / 30,
		first: 20, longest: 30}
	for _, v := range [][2]float64{{f.tokens, want.tokens}, {f.drafts, want.drafts},
		{f.syncs, want.syncs}, {f.step, want.step}, {f.round, want.round},
		{f.first, want.first}, {f.longest, want.longest}} {
		if math.Abs(v[0]-v[1]) > 1e-6 {
			t.Fatalf("%+v, want %+v", f, want)
		}
	}
	row := c.row(1.5)
	if math.Abs(row[10].(float64)-1.5*50/30) > 1e-6 {
		t.Errorf("%v tokens are needed, want %v", row[10], 1.5*50/30)
	}
	c.one = way{drafter: "dflash", depth: 3} // its step is not a plain one
	if row := c.row(1.5); row[10] != nil {
		t.Errorf("%v tokens are needed, want none: the plain step is not known", row[10])
	}
	if r := c.ratio(); math.Abs(r.median-10.0/7) > 1e-9 || r.n != 2 || r.prompts != 1 {
		t.Errorf("ratio %+v", r)
	}
}

func TestAddedAnswersCountAsOne(t *testing.T) {
	answer := func(blocks engine.Blocks) response {
		a := took(100, 700)
		a.stats.Rounds, a.stats.Blocks = 50, blocks
		return a
	}
	ms := time.Millisecond
	p := pair{one: took(200, 2000)}
	p.two.add(answer(engine.Blocks{Count: 6, Tokens: 20, Total: 120 * ms, Early: 120 * ms,
		Max: 30 * ms}))
	p.two.add(answer(engine.Blocks{Count: 10, Tokens: 36, Total: 90 * ms, Early: 80 * ms,
		Max: 40 * ms}))
	f := (&comparison{pairs: []pair{p}}).figures()
	// Of the first eight rounds, two are the second answer's, of 10 ms.
	if want := (roundFigures{tokens: 56.0 / 16, step: 10, round: 210.0 / 16, first: 140.0 / 8,
		longest: 40, inMLX: 14}); math.Abs(f.tokens-want.tokens) > 1e-6 ||
		math.Abs(f.round-want.round) > 1e-6 || math.Abs(f.first-want.first) > 1e-6 ||
		f.longest != want.longest {
		t.Errorf("%+v, want %+v", f, want)
	}
}

func TestRenamedTextBeginsAgainWithTheOtherName(t *testing.T) {
	given, rest := renamed("func f(pub int) {\n\tg(pub, pubs)\n\treturn pub\n}\n", "pub", "entry")
	if want := "func f(pub int) {\n\tg(pub, pubs)\n\treturn pub\n}\n\nfunc f(entry int) {\n"; given != want {
		t.Errorf("%q, want %q", given, want)
	}
	if want := "\tg(entry, pubs)\n\treturn entry\n}\n"; rest != want {
		t.Errorf("%q, want %q", rest, want)
	}
}

// Only adaptive depth with default options has a bar.
func TestOnlyDefaultAdaptiveWaysHaveABar(t *testing.T) {
	of := onlyAdaptive(editBar, func(w way) bool { return w.drafter == "ngram" })
	for _, test := range []struct {
		way
		want bar
	}{
		{way{drafter: "ngram", depth: adaptive}, editBar},
		{way{drafter: "ngram", depth: adaptive, rollback: engine.Trim, rule: engine.Coupled},
			editBar},
		{way{drafter: "ngram", depth: 7}, bar{}},
		{way{drafter: "ngram", depth: adaptive, rollback: engine.Undo}, bar{}},
		{way{drafter: "ngram", depth: adaptive, rule: engine.Rejection}, bar{}},
		{way{drafter: "dflash", depth: adaptive}, bar{}},
		{way{}, bar{}},
	} {
		if got := of(test.way); got != test.want {
			t.Errorf("%s: %v", test.way, got)
		}
	}
}

// The file keeps the newest figures of each machine, model, type, context and library.
func TestCostsReplaceThoseOfTheSameSetup(t *testing.T) {
	home := t.TempDir()
	costs := func(model string, ms float64) *blockCosts {
		return &blockCosts{Machine: "m", Model: model, Context: 64, BLAS: "/lib/a.so", Step: ms,
			Rows: []blockCost{{Rows: 1, Verify: ms}}}
	}
	for i, test := range []struct {
		costs *blockCosts
		want  float64 // step of the last time, 0 = none
	}{
		{costs("a", 1), 0}, {costs("b", 2), 0}, {costs("a", 3), 1}, {costs("b", 4), 2},
		{costs("a", 5), 3},
	} {
		before, err := keepCosts(home, test.costs)
		if err != nil {
			t.Fatal(err)
		}
		if (before == nil) != (test.want == 0) || before != nil && before.Step != test.want {
			t.Errorf("%d: %+v, want %v", i, before, test.want)
		}
		table := test.costs.table(before)
		if got := slices.Contains(table.Columns, "/last time"); got != (before != nil) {
			t.Errorf("%d: columns %q", i, table.Columns)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("%d: %d cells in %d columns", i, len(row), len(table.Columns))
			}
		}
	}
	other := costs("a", 9)
	other.BLAS = "/lib/b.so"
	if before, err := keepCosts(home, other); err != nil || before != nil {
		t.Errorf("costs of another library are compared: %v, %v", before, err)
	}
	if before, err := keepCosts("", other); err != nil || before != nil {
		t.Errorf("without a home folder: %v, %v", before, err)
	}
}

func TestTablePrintsADashForNoValue(t *testing.T) {
	var out strings.Builder
	err := benchTable{Title: "A title", Columns: []string{"a", "b"},
		Rows: [][]any{{"x", 1.2345}, {3, nil}}, Notes: []string{"a note"}}.print(&out)
	want := "\nA title\na  b\nx  1.23\n3  -\na note\n"
	if err != nil || out.String() != want {
		t.Errorf("%q, %v", out.String(), err)
	}
}
