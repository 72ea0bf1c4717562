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
	w, err := newWorkloads(b.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*workload{w.code, w.edit, w.copied, w.noise, w.after} {
		if len(one.prompts) < 3*figures.MinPairs/2 || len(one.picks) != len(one.prompts) {
			t.Errorf("%s has %d prompts", one.name, len(one.prompts))
		}
		if one == w.code || one == w.noise {
			continue
		}
		for i, p := range one.prompts {
			if scripted := one == w.copied; scripted != (p.script != nil) || len(p.ids) == 0 ||
				scripted && len(p.script) < 2*minAnswer {
				t.Errorf("%s: prompt %d has %d tokens and %d of script", one.name, i, len(p.ids),
					len(p.script))
			}
		}
	}
	half, other := w.code.half(0).picks, w.code.half(1).picks
	if len(half)+len(other) != len(w.code.prompts) ||
		slices.ContainsFunc(half, func(i int) bool { return slices.Contains(other, i) }) {
		t.Errorf("halves %v and %v", half, other)
	}
	for _, p := range w.noise.prompts {
		if len(p.script) != coldRequest {
			t.Errorf("a script has %d tokens, want %d", len(p.script), coldRequest)
		}
	}
}

// The built-in drafter is measured if no folder is given, whether the list is nil or empty.
func TestBuiltInDrafterIsTheDefault(t *testing.T) {
	_, b := openTiny(t, "")
	want := []string{"dflash", draft.Ngram{}.Name()}
	for _, dirs := range [][]string{nil, {}} {
		d, err := loadBenchDrafters(t.Context(), b, "", dirs, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range d.list {
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

// Each draft has taps of its own, which others of its kind do not free. Drafts are proposed at the
// measured temperature.
func TestTimedDraftsKeepTheirTapsAndSampler(t *testing.T) {
	th, b := openTiny(t, "gemma3_text")
	dir := enginetest.TinyDrafter(t, nil)
	d, err := loadBenchDrafters(t.Context(), b, "", []string{dir, dir}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	last := &asked{Drafter: d.list[1]}
	d.list[1] = last
	for _, temperature := range []float64{0, 0.8, 1} {
		// fewer tokens than a draft takes into its context at once
		s, err := newRoundTimer(t.Context(), th, b, d.list, 20, temperature)
		if err != nil {
			t.Fatal(err)
		}
		if want := s.sampler(temperature); last.sampler != want ||
			(want == s.greedy) != (temperature == 0) {
			t.Errorf("temperature %v: drafts have the wrong sampler", temperature)
		}
		for range 2 {
			for i := range d.list {
				if _, err := s.propose(t.Context(), i, 3); err != nil {
					t.Errorf("temperature %v, %s: %v", temperature, d.list[i].Name(), err)
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
	th, b, err := benchModel(t.Context(), dir, models.Options{})
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
func testContest(t *testing.T) *contest {
	th, b := openTiny(t, "gemma3_text")
	return &contest{
		thread: th, model: b.Model, drafts: []draft.Drafter{draft.Ngram{}}, pairs: 3,
		log: io.Discard,
		engines: func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
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
	w := &workload{name: "scripts", limit: 40, unusable: map[unusable]string{}}
	for i, s := range [][]int32{script(30, 1, false), script(30, 2, true), script(12, 3, false),
		script(30, 4, false)} {
		w.prompts = append(w.prompts, prompt{ids: []int32{1, 2, 3, 4, 5, 6}, script: s})
		w.picks = append(w.picks, i)
	}
	for _, set := range []setting{{}, {temperature: 0.8}} {
		got, err := c.compare(t.Context(), w, set, way{}, way{drafter: "ngram", depth: 3}, figures.Bar{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.pairs) != 3 || got.ratio().Prompts != 2 || got.rejected["looping"] != 1 ||
			got.rejected["short"] != 1 {
			t.Errorf("%s: %d pairs of %d prompts, rejected %v", set, len(got.pairs),
				got.ratio().Prompts, got.rejected)
		}
		for _, p := range got.pairs {
			if want := w.prompts[p.index].script; !slices.Equal(p.one.ids, want) ||
				!slices.Equal(p.two.ids, want) {
				t.Errorf("%s: %v and %v, dictated %v", set, p.one.ids, p.two.ids, want)
			}
		}
	}
	// If all answers loop, nothing is measured, and the contest ends.
	w.picks = []int{1}
	if got, err := c.compare(t.Context(), w, setting{}, way{}, way{drafter: "ngram", depth: 3},
		editBar); err != nil || len(got.pairs) != 0 {
		t.Errorf("%d pairs, %v", len(got.pairs), err)
	}
}

// Answers that differ by more than rounding are reported. Rejection may draw other tokens, so its
// answers are not.
func TestContestReportsDifferencesBeyondRounding(t *testing.T) {
	c := testContest(t)
	c.model = &faulty{watched{Model: c.model}, 2 * certain}
	w := &workload{
		name: "code", limit: 30, picks: []int{0}, unusable: map[unusable]string{},
		prompts: []prompt{{ids: benchIDs(40, c.model.Config().VocabSize),
			script: script(30, 1, false)}},
	}
	text := slices.Concat(w.prompts[0].ids, w.prompts[0].script)
	c.drafts = []draft.Drafter{&enginetest.Scripted{Text: text}}
	drafts := way{drafter: "scripted", depth: 3}
	for _, test := range []struct {
		set      setting
		one, two way
		wrong    int
	}{
		{setting{}, way{}, drafts, 1},
		{setting{}, way{drafter: "scripted"}, drafts, 1},
		{setting{temperature: 0.8}, way{}, drafts, 1},
		{setting{temperature: 0.8}, way{},
			way{drafter: "scripted", depth: 3, rule: engine.Rejection}, 0},
	} {
		result, err := c.compare(t.Context(), w, test.set, test.one, test.two, figures.Bar{Least: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.wrong) != test.wrong ||
			(result.verdict() == "texts differ") != (test.wrong > 0) {
			t.Errorf("%s, %s against %s: %q, judged %v", test.set, test.two, test.one, result.wrong,
				result.verdict())
		}
	}
}

func TestSpeculationListsItsTablesForAnUnknownName(t *testing.T) {
	err := benchNamed(t, "speculation").Run(t.Context(), Options{
		Model: enginetest.TinyModel(t, "qwen3"), Quick: true, Only: "coed", Out: io.Discard,
		Err: io.Discard,
	})
	if err == nil || !strings.Contains(err.Error(), `"coed"`) ||
		!strings.Contains(err.Error(), "\n  code, greedy\n") ||
		!strings.Contains(err.Error(), "\n  cold start") {
		t.Errorf("the error is %v", err)
	}
}

// Both benches run on a tiny model with a drafter, as the command runs them.
func TestVerifyAndSpeculationReportWholeTables(t *testing.T) {
	model, drafter, home := enginetest.TinyModel(t, "gemma3_text"), enginetest.TinyDrafter(t, nil),
		t.TempDir()
	for _, b := range Benches() {
		if b.Name != "verify" && b.Name != "speculation" {
			continue
		}
		var out bytes.Buffer
		if err := b.Run(t.Context(), Options{
			Model: model, Drafters: []string{drafter}, Contexts: []int{70}, Quick: true, JSON: true,
			Home: home,
			In:   strings.NewReader(""), Out: &out, Err: io.Discard,
		}); err != nil {
			t.Fatal(err)
		}
		lines := json.NewDecoder(&out)
		var header figures.Header
		if err := lines.Decode(&header); err != nil || header.BLAS == "" && !benchGPU(t) {
			t.Errorf("%s: header %+v, %v", b.Name, header, err)
		}
		tables := 0
		for lines.More() {
			var table figures.Table
			if err := lines.Decode(&table); err != nil {
				t.Fatal(err)
			}
			tables++
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("%s: %d cells in %d columns", table.Title, len(row),
						len(table.Columns))
				}
			}
			if len(table.Rows) == 0 {
				t.Errorf("%s has no rows", table.Title)
			}
		}
		if want := map[string]int{"verify": 1, "speculation": 8}[b.Name]; tables < want {
			t.Errorf("%s: %d tables, want %d", b.Name, tables, want)
		}
	}
}

// On the CPU a GGUF file is measured in the forms in which it is served there: both compute in
// float32, as does its drafter.
func TestVerifyMeasuresAGGUFFileAsItIsServed(t *testing.T) {
	const file = "../../models/testdata/gguf/llama.gguf"
	var out bytes.Buffer
	if err := benchNamed(t, "verify").Run(t.Context(), Options{
		Model: file, Drafters: []string{file}, Contexts: []int{70}, Quick: true, JSON: true,
		In: strings.NewReader(""), Out: &out, Err: io.Discard,
	}); err != nil {
		t.Fatal(err)
	}
	var forms []string
	for line := range strings.Lines(out.String()) {
		if _, after, ok := strings.Cut(line, "llama.gguf, "); ok {
			form, _, _ := strings.Cut(after, ", context")
			forms = append(forms, form)
		}
	}
	want := []string{"F32, mixed 8-bit, held in float32", "F32, mixed 8-bit"}
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
