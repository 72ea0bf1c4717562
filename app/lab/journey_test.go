package lab

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tandem/app/bench"
	"tandem/app/drafters"
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
	sliding, err := drafters.Load(t.Context(), j.bundle, slidingDrafter(t),
		models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sliding.Close()
	table, err := j.ablate(t.Context(), sliding)
	if err != nil {
		t.Fatal(err)
	}
	tables = append(tables, table)
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

// slidingDrafter returns the folder of the pocket model's drafter with a window of 128 positions in its
// first layer. It was not trained so, and guesses a little worse.
func slidingDrafter(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../models/pocket/drafter")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "config.json")
	config, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for old, put := range map[string]string{`"sliding_window": null`: `"sliding_window": 128`,
		`"use_sliding_window": false`: `"use_sliding_window": true`,
		`"full_attention"`:            `"sliding_attention"`} {
		if !bytes.Contains(config, []byte(old)) {
			t.Fatalf("the drafter's config has no %s", old)
		}
		config = bytes.Replace(config, []byte(old), []byte(put), 1)
	}
	if err := os.WriteFile(name, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
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

// The readings of a drafter are from the one that came with the model, whatever is in the working
// folder.
func TestJourneyReadsTheDrafterOfTheRetrievalModel(t *testing.T) {
	work := t.TempDir()
	retrieval := retrievalFolder(t)
	t.Chdir(work)
	if err := os.MkdirAll(filepath.Join(work, RetrievalModel), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyDrafter(t, nil),
		filepath.Join(work, RetrievalModel, "drafter")); err != nil {
		t.Fatal(err)
	}
	dir, _ := retrieval()
	own := filepath.Join(dir, "drafter")
	for _, given := range [][]string{nil, {own}} {
		j, err := openJourney(t.Context(), journeyOptions{quick: true, retrieval: retrieval,
			DraftOptions: bench.DraftOptions{ModelOptions: bench.ModelOptions{Model: RetrievalModel},
				Drafters: given}}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.loaded.Loaded) != 1 || j.loaded.Loaded[0].Source() != own {
			t.Errorf("%v: it has %v", given, j.loaded.Loaded)
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

// retrievalFolder returns what finds the retrieval model in this checkout, from any working folder.
func retrievalFolder(t *testing.T) Retrieval {
	t.Helper()
	dir, err := filepath.Abs("../../models/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	return func() (string, error) { return dir, nil }
}
