package bench

import (
	"io"
	"slices"
	"strings"
	"testing"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/enginetest"
)

// The bench runs on a tiny model with rings.
func TestCheckpointBenchReportsWholeTables(t *testing.T) {
	tables := tablesOf(t, Run{Name: "checkpoints", Options: &checkpointOptions{quick: true,
		ModelOptions: ModelOptions{Model: enginetest.TinyModel(t, "gemma3_text")}}}, Env{})
	if len(tables) != 2 {
		t.Fatalf("%d tables, want 2", len(tables))
	}
	cell := func(table figures.Table, row []any, column string) any {
		i := slices.Index(table.Columns, column)
		if i < 0 {
			t.Fatalf("%s has no column %q", table.Title, column)
		}
		return row[i]
	}
	for _, row := range tables[0].Rows {
		// Of three texts, one of them unmeasured, each leaves a prompt's end and seven checkpoints
		// of an answer.
		if files := cell(tables[0], row, "files"); files != 24. {
			t.Errorf("%v: %v files, want 24", row[0], files)
		}
	}
	restart := tables[1]
	if n, verdict := cell(restart, restart.Rows[0], "pairs"),
		cell(restart, restart.Rows[0], "at least"); n != 2. || verdict != "10.00, too few pairs" {
		t.Errorf("%v pairs with the verdict %v, want 2 with too few pairs", n, verdict)
	}
}

// A checkpointSuite expects of a model's checkpoints that they save what they promise, in the memory
// that they may take.
type checkpointSuite struct {
	*checkpointBench
	probes int // texts of the probe
	texts  int // of each other flow
	mixed  int // requests while memory is watched
}

// openCheckpointSuite loads the model in a folder.
func openCheckpointSuite(t *testing.T, dir string) *checkpointSuite {
	t.Helper()
	b, err := (&checkpointOptions{ModelOptions: ModelOptions{Model: dir}}).Open(t.Context(),
		Env{Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &checkpointSuite{b.(*checkpointBench), 2, 1, 40}
}

// restores plays all flows and returns the tokens restored from checkpoints, by flow and arm. With
// checkpoints a diverging prompt is recomputed from near the divergence, without them from its start. A
// prompt that was only partly restored has a reason.
func (b *checkpointSuite) restores(t *testing.T) (cached map[string][]int) {
	t.Helper()
	arms, measured := b.flows(t)
	cached = map[string][]int{}
	for _, s := range measured {
		for _, a := range arms {
			key, r := s.name+" "+a.name, a.share(s)
			cached[key] = r.cached
			if r.late {
				t.Errorf("%s: %v tokens that matched were not restored, at most %d may be", key,
					r.short, s.within)
			}
			if a.name == "off" && slices.Max(append(r.matched, r.cached...)) != 0 {
				t.Errorf("%s: %v tokens matched and %v were restored without checkpoints", key,
					r.matched, r.cached)
			}
			for i, reason := range r.reasons {
				if a.name != "off" && (reason == "") != (r.short[i] == 0) {
					t.Errorf("%s: text %d is %d tokens short for the reason %q", key, i, r.short[i], reason)
				}
			}
		}
	}
	return cached
}

// comesBack writes a prompt's checkpoints to files and expects a new engine to restore the prompt from
// them and to generate the same continuation.
func (b *checkpointSuite) comesBack(t *testing.T, length int) {
	t.Helper()
	text, dir := b.text(length), t.TempDir()
	if err := b.write(t.Context(), dir, text); err != nil {
		t.Fatal(err)
	}
	off := b.open(engine.Options{})
	defer off.Close()
	restored, recomputed, err := b.restart(t.Context(), dir, off, text)
	if err != nil {
		t.Fatal(err)
	}
	if n := restored.Stats.CachedTokens; n != length-1 {
		t.Errorf("%d of %d tokens came back from files", n, length)
	}
	if recomputed.Stats.CachedTokens != 0 || !slices.Equal(restored.IDs, recomputed.IDs) {
		t.Errorf("restored it says %v, recomputed %v after %d cached tokens", restored.IDs,
			recomputed.IDs, recomputed.Stats.CachedTokens)
	}
}

// A tiny model with rings restores as much as each flow allows.
func TestCheckpointsRestoreWhatFlowsShare(t *testing.T) {
	b := openCheckpointSuite(t, enginetest.TinyModel(t, "gemma3_text"))
	cached := b.restores(t)
	for key, want := range map[string]int{
		"the same prompt again on": 599, "the same prompt again prompt only": 599,
		"the same and a longer end on": 599,
		"another middle on":            256, "another middle there once more on": 300,
		"tool call, its result on": 539, "tool call, the turn after it on": 819,
		"a new chat with the same tools on":                     400,
		"answer cancelled, continued prompt only":               29,
		probe + "diverges at 66, as long as before on":          94,
		probe + "diverges at 66, as long as before prompt only": 29,
		probe + "diverges at 336 to 399 on":                     350,
		probe + "diverges at 336 to 399 prompt only":            29,
	} {
		got, ok := cached[key]
		texts := b.texts
		if strings.HasPrefix(key, probe) {
			texts = b.probes
		}
		if !ok || len(got) != texts {
			t.Errorf("%s: %d texts were measured, want %d", key, len(got), texts)
		}
		for _, n := range got {
			if n != want {
				t.Errorf("%s: %v tokens cached, want %d each", key, got, want)
			}
		}
	}
	b.comesBack(t, 600)
	b.keepsBudget(t)
}

// More missing tokens than the bound are an error only where all checkpoints are kept.
func TestLateRestoreIsAnErrorWithCheckpointsOn(t *testing.T) {
	s := step{name: "a", within: 64}
	stats := []engine.Stats{
		{PromptTokens: 300, Matched: 200, CachedTokens: 180},
		{PromptTokens: 300, Matched: 300, CachedTokens: 234, Miss: "why"},
	}
	for _, test := range []struct {
		arm   string
		last  int // tokens cached of the second text
		short int
		late  bool
	}{
		{"on", 234, 65, true}, {"on", 235, 64, false}, {"prompt only", 234, 65, false},
	} {
		stats[1].CachedTokens = test.last
		r := (&arm{name: test.arm, stats: map[string][]engine.Stats{"a": stats}}).share(s)
		if !slices.Equal(r.short, []int{20, test.short}) || r.late != test.late {
			t.Errorf("%s: short by %v, late %t", test.arm, r.short, r.late)
		}
		if !slices.Equal(r.matched, []int{200, 300}) || !slices.Equal(r.reasons, []string{"", "why"}) {
			t.Errorf("%s: %+v", test.arm, r)
		}
	}
}

// The token at the split differs from the text's, whatever more begins with.
func TestBranchDivergesAtTheSplit(t *testing.T) {
	text, more := []int32{1, 2, 3, 4}, []int32{3, 9}
	if got := branch(text, 2, more); !slices.Equal(got, []int32{1, 2, 2, 9}) {
		t.Errorf("%v", got)
	}
	if got := branch(text, 1, more); !slices.Equal(got, []int32{1, 3, 9}) || more[0] != 3 {
		t.Errorf("%v, given %v", got, more)
	}
	if got := branch(text, 4, more); !slices.Equal(got, []int32{1, 2, 3, 4, 3, 9}) {
		t.Errorf("%v", got)
	}
}
