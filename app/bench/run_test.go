package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// Every workload has enough prompts, and a script where it needs one.
func TestEveryWorkloadHasTextsForThePocketModel(t *testing.T) {
	_, b := openTiny(t, "")
	w, err := NewWorkloads(b.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*Workload{w.Code, w.Edit, w.copied, w.noise, w.after} {
		if len(one.Prompts) < 3*figures.MinPairs/2 || len(one.Picks) != len(one.Prompts) {
			t.Errorf("%s has %d prompts", one.Name, len(one.Prompts))
		}
		if one == w.Code || one == w.noise {
			continue
		}
		for i, p := range one.Prompts {
			if scripted := one == w.copied; scripted != (p.Script != nil) || len(p.IDs) == 0 ||
				scripted && len(p.Script) < 2*MinAnswer {
				t.Errorf("%s: prompt %d has %d tokens and %d of script", one.Name, i, len(p.IDs),
					len(p.Script))
			}
		}
	}
	half, other := w.Code.half(0).Picks, w.Code.half(1).Picks
	if len(half)+len(other) != len(w.Code.Prompts) ||
		slices.ContainsFunc(half, func(i int) bool { return slices.Contains(other, i) }) {
		t.Errorf("halves %v and %v", half, other)
	}
	for _, p := range w.noise.Prompts {
		if len(p.Script) != coldRequest {
			t.Errorf("a script has %d tokens, want %d", len(p.Script), coldRequest)
		}
	}
}

// The built-in drafter is measured if no folder is given, whether the list is nil or empty.
func TestBuiltInDrafterIsTheDefault(t *testing.T) {
	_, b := openTiny(t, "")
	want := []string{"dflash", draft.Ngram{}.Name()}
	for _, dirs := range [][]string{nil, {}} {
		d, err := LoadDrafters(t.Context(), b, "", dirs, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range d.List {
			got = append(got, one.Name())
		}
		if err := d.Close(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %q, %v, want %q", dirs, got, err, want)
		}
	}
}

// No two drafters share a name, and none is called auto, none or ngram.
func TestDraftersGetDistinctNames(t *testing.T) {
	got := distinctNames([]string{"a/last", "b/last/", "c/best", "d/last-2", "auto"})
	if want := []string{"last", "last-2", "best", "last-2-2", "auto-2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An asked drafter keeps the sampler of its last draft.
type asked struct {
	draft.Drafter
	sampler *sample.Sampler
}

func (a *asked) Open(s *mlx.Scope, o draft.Options) (draft.Draft, error) {
	a.sampler = o.Sampler
	return a.Drafter.Open(s, o)
}

// Each draft has its own taps, which others of its kind do not free. Drafts are proposed at the
// measured temperature.
func TestTimedDraftsKeepTheirTapsAndSampler(t *testing.T) {
	th, b := openTiny(t, "gemma3_text")
	dir := enginetest.TinyDrafter(t, nil)
	d, err := LoadDrafters(t.Context(), b, "", []string{dir, dir}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	last := &asked{Drafter: d.List[1]}
	d.List[1] = last
	for _, temperature := range []float64{0, 0.8, 1} {
		// fewer tokens than a draft takes into its context in one update
		s, err := newRoundTimer(t.Context(), th, b, d.List, 20, temperature)
		if err != nil {
			t.Fatal(err)
		}
		if want := s.sampler(temperature); last.sampler != want ||
			(want == s.greedy) != (temperature == 0) {
			t.Errorf("temperature %v: drafts have the wrong sampler", temperature)
		}
		for range 2 {
			for i := range d.List {
				if _, err := s.propose(t.Context(), i, 3); err != nil {
					t.Errorf("temperature %v, %s: %v", temperature, d.List[i].Name(), err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// openTiny loads a tiny model of a type, or the pocket model if the type is empty.
func openTiny(t *testing.T, modelType string) (*mlx.Thread, *models.Bundle) {
	t.Helper()
	dir := ""
	if modelType != "" {
		dir = enginetest.TinyModel(t, modelType)
	}
	th, b, err := OpenModel(t.Context(), dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := th.Close(); err != nil {
			t.Error(err)
		}
	})
	return th, b
}

// testContest returns a contest on a tiny model, of three pairs.
func testContest(t *testing.T) *Contest {
	th, b := openTiny(t, "gemma3_text")
	return &Contest{
		Thread: th, Model: b.Model, Drafters: []draft.Drafter{draft.Ngram{}}, Pairs: 3,
		Log: io.Discard,
		Engines: func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
			return engine.New(th, m, b.Tokenizer, engine.Options{Drafters: drafters})
		},
	}
}

// script returns n ids. No four of them recur, or the same four recur all the time.
func script(n, seed int, looping bool) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*i + seed*i + 7*seed) % 251)
		if looping {
			ids[i] = int32(i % 4)
		}
	}
	return ids
}

// A dictated model says its script, with and without drafts. Prompts do not count if their answers
// loop or are short.
func TestContestLeavesOutLoopingAndShortAnswers(t *testing.T) {
	c := testContest(t)
	w := &Workload{Name: "scripts", Limit: 40, unusable: map[unusable]string{}}
	for i, s := range [][]int32{script(30, 1, false), script(30, 2, true), script(12, 3, false),
		script(30, 4, false)} {
		w.Prompts = append(w.Prompts, Prompt{IDs: []int32{1, 2, 3, 4, 5, 6}, Script: s})
		w.Picks = append(w.Picks, i)
	}
	for _, set := range []Setting{{}, {Temperature: 0.8}} {
		got, err := c.compare(t.Context(), w, set, Way{}, Way{Drafter: "ngram", Depth: 3}, figures.Bar{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Pairs) != 3 || got.Ratio().Prompts != 2 || got.rejected["looping"] != 1 ||
			got.rejected["short"] != 1 {
			t.Errorf("%s: %d pairs of %d prompts, rejected %v", set, len(got.Pairs),
				got.Ratio().Prompts, got.rejected)
		}
		for _, p := range got.Pairs {
			if want := w.Prompts[p.Index].Script; !slices.Equal(p.One.IDs, want) ||
				!slices.Equal(p.Two.IDs, want) {
				t.Errorf("%s: %v and %v, dictated %v", set, p.One.IDs, p.Two.IDs, want)
			}
		}
	}
	// If all answers loop, nothing is measured, and the contest ends.
	w.Picks = []int{1}
	if got, err := c.compare(t.Context(), w, Setting{}, Way{}, Way{Drafter: "ngram", Depth: 3},
		editBar); err != nil || len(got.Pairs) != 0 {
		t.Errorf("%d pairs, %v", len(got.Pairs), err)
	}
}

// Answers that differ by more than rounding are reported. Rejection may draw other tokens, so its
// answers are not.
func TestContestReportsDifferencesBeyondRounding(t *testing.T) {
	c := testContest(t)
	c.Model = &faulty{watched{Model: c.Model}, 2 * certain}
	w := &Workload{
		Name: "code", Limit: 30, Picks: []int{0}, unusable: map[unusable]string{},
		Prompts: []Prompt{{IDs: TokenIDs(40, c.Model.Config().VocabSize),
			Script: script(30, 1, false)}},
	}
	text := slices.Concat(w.Prompts[0].IDs, w.Prompts[0].Script)
	c.Drafters = []draft.Drafter{&enginetest.Scripted{Text: text}}
	drafts := Way{Drafter: "scripted", Depth: 3}
	for _, test := range []struct {
		set      Setting
		one, two Way
		wrong    int
	}{
		{Setting{}, Way{}, drafts, 1},
		{Setting{}, Way{Drafter: "scripted"}, drafts, 1},
		{Setting{Temperature: 0.8}, Way{}, drafts, 1},
		{Setting{Temperature: 0.8}, Way{},
			Way{Drafter: "scripted", Depth: 3, Rule: engine.Rejection}, 0},
	} {
		result, err := c.compare(t.Context(), w, test.set, test.one, test.two, figures.Bar{Min: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.wrong) != test.wrong ||
			(result.Verdict() == "texts differ") != (test.wrong > 0) {
			t.Errorf("%s, %s against %s: %q, judged %v", test.set, test.two, test.one, result.wrong,
				result.Verdict())
		}
	}
}

func TestSpeculationListsItsTablesForAnUnknownName(t *testing.T) {
	o := &speculationOptions{quick: true, only: "coed"}
	o.Model = enginetest.TinyModel(t, "qwen3")
	err := (&Run{Options: o}).Do(t.Context(), Env{Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), `"coed"`) ||
		!strings.Contains(err.Error(), "\n  code, greedy\n") ||
		!strings.Contains(err.Error(), "\n  cold start") {
		t.Errorf("the error is %v", err)
	}
}

// tablesOf runs a bench and returns its tables, whose rows are whole.
func tablesOf(t *testing.T, r Run, e Env) (tables []figures.Table) {
	t.Helper()
	var out bytes.Buffer
	e.In, e.Out, e.Err = strings.NewReader(""), &out, io.Discard
	r.JSON = true
	if err := r.Do(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	var header figures.Header
	if err := lines.Decode(&header); err != nil || header.DType == "" ||
		header.BLAS == "" && !benchGPU(t) {
		t.Errorf("%s: header %+v, %v", r.Name, header, err)
	}
	for lines.More() {
		var table figures.Table
		if err := lines.Decode(&table); err != nil {
			t.Fatal(err)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("%s: %d cells in %d columns", table.Title, len(row), len(table.Columns))
			}
		}
		if len(table.Rows) == 0 {
			t.Errorf("%s has no rows", table.Title)
		}
		tables = append(tables, table)
	}
	return tables
}

// Both benches run on a tiny model with a drafter, as the command runs them.
func TestVerifyAndSpeculationReportWholeTables(t *testing.T) {
	of := DraftOptions{ModelOptions{enginetest.TinyModel(t, "gemma3_text")},
		[]string{enginetest.TinyDrafter(t, nil)}}
	for _, test := range []struct {
		name    string
		options Options
		least   int
	}{
		{"verify", &verifyOptions{of, []int{70}, true}, 1},
		{"speculation", &speculationOptions{DraftOptions: of, quick: true}, 8},
	} {
		tables := tablesOf(t, Run{Name: test.name, Options: test.options}, Env{Home: t.TempDir()})
		if len(tables) < test.least {
			t.Errorf("%s: %d tables, want %d", test.name, len(tables), test.least)
		}
	}
}

// On the CPU a GGUF file is measured in the one type in which it is served there, as is its drafter.
func TestVerifyMeasuresAGGUFFileAsItIsServed(t *testing.T) {
	const file = "../../models/testdata/gguf/llama.gguf"
	var forms []string
	for _, table := range tablesOf(t, Run{Name: "verify", Options: &verifyOptions{
		DraftOptions{ModelOptions{file}, []string{file}}, []int{70}, true}}, Env{}) {
		if _, after, ok := strings.Cut(table.Title, "llama.gguf, "); ok {
			form, _, _ := strings.Cut(after, ", context")
			forms = append(forms, form)
		}
	}
	want := []string{"F32, mixed 8-bit"}
	if benchGPU(t) {
		want = []string{"F32, mixed 8-bit", "BF16, mixed 8-bit",
			"BF16, mixed 8-bit, kernel for few rows"}
	}
	if !slices.Equal(forms, want) {
		t.Errorf("it is measured as %q, not %q", forms, want)
	}
}

func benchGPU(t *testing.T) bool {
	th, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	return th.GPU()
}
