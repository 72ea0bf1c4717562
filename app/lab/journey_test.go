package lab

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tandem/app/bench"
	"tandem/app/figures"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/models"
)

// Every stage of the journey gives the same answers, the first one too, which keeps no caches. A
// drafter that was trained on scaled embeddings accepts less with raw ones.
func TestJourneyStagesGiveTheSameAnswers(t *testing.T) {
	j, err := openJourney(t.Context(), journeyOptions{quick: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var tables []figures.Table
	if err := j.Report(t.Context(), func(b figures.Table) error {
		tables = append(tables, b)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(tables) != 3 || len(tables[0].Rows) != 7 || len(tables[1].Rows) != 2 ||
		len(tables[2].Rows) != 4 {
		t.Fatalf("the tables are %v", tables)
	}
	for _, stage := range []string{"re-forward", "incremental"} {
		if n := cellOf(t, tables[0], stage, "syncs/token").(float64); n < 0.9 || n > 1.1 {
			t.Errorf("%s waits %.2f times for a token", stage, n)
		}
	}
	for _, b := range tables {
		for _, row := range b.Rows {
			if row[len(row)-1] != "2/2" {
				t.Errorf("%s: %v", b.Title, row)
			}
		}
	}
	for _, b := range tables[1:] {
		scaled, raw := b.Rows[0][2].(float64), b.Rows[1][2].(float64)
		if scaled <= raw || raw < 1 {
			t.Errorf("%s: %.2f tokens with scaled embeddings, %.2f with raw ones", b.Title, scaled, raw)
		}
	}
}

// A short drafter has few drafts in a round.
type short struct{ draft.Drafter }

func (short) MaxDrafts() int { return 2 }

// A drafter whose blocks are short has each stage once.
func TestJourneyOfAShortDrafterHasNoStageTwice(t *testing.T) {
	j, err := openJourney(t.Context(), journeyOptions{quick: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.Drafters = []draft.Drafter{short{j.Drafters[0]}}
	var names []string
	for _, s := range j.stages() {
		names = append(names, s.name)
		if s.side != nil {
			s.side.Close()
		}
	}
	if len(names) != 5 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != 5 {
		t.Errorf("the stages are %q", names)
	}
}

// The readings of a drafter are those of the one that came with the model, whatever lies in the working
// folder.
func TestJourneyReadsTheDrafterOfTheRetrievalModel(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	if err := os.MkdirAll(filepath.Join(work, retrievalModel), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyDrafter(t, nil),
		filepath.Join(work, models.RetrievalDrafter)); err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{nil, {models.RetrievalDrafter}} {
		j, err := openJourney(t.Context(), journeyOptions{quick: true,
			DraftOptions: bench.DraftOptions{ModelOptions: bench.ModelOptions{Model: retrievalModel},
				Drafters: given}}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.loaded.Loaded) != 1 || j.loaded.Loaded[0].Source() != models.RetrievalDrafter ||
			j.sliding != nil {
			t.Errorf("%v: it has %v, %v", given, j.loaded.Loaded, j.sliding)
		}
		if err := j.ablations(t.Context(), func(b figures.Table) error {
			t.Errorf("%v: a drafter with one reading has the table %v", given, b)
			return nil
		}); err != nil {
			t.Errorf("%v: %v", given, err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}
