package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"tandem/app/figures"
	"tandem/engine"
)

// took returns a response of n tokens after the first, decoded in ms milliseconds.
func took(n, ms int) Response {
	return Response{IDs: make([]int32, n+1),
		Stats: engine.Stats{Decode: time.Duration(ms) * time.Millisecond}}
}

// against returns a comparison of a depth with plain decoding. ratios are percent, one a prompt.
func against(depth int, ratios ...int) *Comparison {
	c := &Comparison{Two: Way{Drafter: "dflash", Depth: depth}}
	for i, percent := range ratios {
		c.Pairs = append(c.Pairs, Pair{i, took(100, 10*percent), took(100, 1000)})
	}
	return c
}

// The pairs double once if the interval contains the bar.
func TestPairsDoubleOnceWhereTheBarIsUndecided(t *testing.T) {
	for _, test := range []struct {
		name string
		bar  figures.Bar
		once bool
		want int // pairs
	}{
		{"clear", figures.Bar{Min: 0.5}, false, 4},
		{"in doubt", figures.Bar{Min: 1.2}, false, 8},
		{"in doubt, but once", figures.Bar{Min: 1.2}, true, 4},
		{"no bar", figures.Bar{}, false, 4},
	} {
		c := &Comparison{Bar: test.bar}
		for c.NeedsPairs(4, test.once) {
			c.Pairs = append(c.Pairs, against(3, 100+40*(len(c.Pairs)%2)).Pairs[0])
		}
		if len(c.Pairs) != test.want || c.doubled != (test.want == 8) {
			t.Errorf("%s: %d pairs, doubled %t", test.name, len(c.Pairs), c.doubled)
		}
	}
}

// Only prompts of even index count.
func TestFastestIsChosenByEvenPrompts(t *testing.T) {
	slow, fast := against(1, 120, 900, 130, 900, 110, 900), against(7, 140, 10, 150, 10, 160, 10)
	if got, ratio := best([]*Comparison{slow, fast}); got != fast || math.Abs(ratio-1.5) > 1e-9 {
		t.Errorf("%v at %v", got.Two, ratio)
	}
	if _, ratio := best([]*Comparison{against(1, 90, 200, 95, 200)}); ratio >= 1 {
		t.Errorf("the ratio is %v, but plain decoding is faster", ratio)
	}
	if got, ratio := best([]*Comparison{{}}); got != nil || ratio != 0 {
		t.Errorf("without pairs the fastest is %v at %v", got, ratio)
	}
}

func TestFiguresTellRoundsWithDraftsFromPlainOnes(t *testing.T) {
	p := Pair{One: took(100, 1000), Two: took(100, 700)}
	p.Two.Stats.Rounds, p.Two.Stats.Syncs = 50, 51
	p.Two.Stats.Depths = slices.Concat(slices.Repeat([]int{3}, 30), make([]int, 20))
	p.Two.Stats.Drafted, p.Two.Stats.Accepted = 90, 50
	p.Two.Stats.Blocks = engine.Blocks{Count: 30, Tokens: 80, Total: 500 * time.Millisecond,
		Early: 160 * time.Millisecond, Max: 30 * time.Millisecond}
	c := &Comparison{Pairs: []Pair{p, p}}
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
	c.One = Way{Drafter: "dflash", Depth: 3} // its step is not a plain one
	if row := c.row(1.5); row[10] != nil {
		t.Errorf("%v tokens are needed, want none: the plain step is not known", row[10])
	}
	if r := c.Ratio(); math.Abs(r.Median-10.0/7) > 1e-9 || r.N != 2 || r.Prompts != 1 {
		t.Errorf("ratio %+v", r)
	}
}

func TestAddedAnswersCountAsOne(t *testing.T) {
	answer := func(blocks engine.Blocks) Response {
		a := took(100, 700)
		a.Stats.Rounds, a.Stats.Blocks = 50, blocks
		return a
	}
	ms := time.Millisecond
	p := Pair{One: took(200, 2000)}
	p.Two.add(answer(engine.Blocks{Count: 6, Tokens: 20, Total: 120 * ms, Early: 120 * ms,
		Max: 30 * ms}))
	p.Two.add(answer(engine.Blocks{Count: 10, Tokens: 36, Total: 90 * ms, Early: 80 * ms,
		Max: 40 * ms}))
	f := (&Comparison{Pairs: []Pair{p}}).figures()
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
	of := onlyAdaptive(editBar, func(w Way) bool { return w.Drafter == "ngram" })
	for _, test := range []struct {
		Way
		want figures.Bar
	}{
		{Way{Drafter: "ngram", Depth: Adaptive}, editBar},
		{Way{Drafter: "ngram", Depth: Adaptive, Rollback: engine.Trim, Rule: engine.Coupled},
			editBar},
		{Way{Drafter: "ngram", Depth: 7}, figures.Bar{}},
		{Way{Drafter: "ngram", Depth: Adaptive, Rollback: engine.Undo}, figures.Bar{}},
		{Way{Drafter: "ngram", Depth: Adaptive, Rule: engine.Rejection}, figures.Bar{}},
		{Way{Drafter: "dflash", Depth: Adaptive}, figures.Bar{}},
		{Way{}, figures.Bar{}},
	} {
		if got := of(test.Way); got != test.want {
			t.Errorf("%s: %v", test.Way, got)
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
