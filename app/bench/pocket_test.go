package bench

import (
	"io"
	"testing"

	"tandem/engine"
	"tandem/models"
)

// The engine decodes code that neither the model nor its drafters were trained on. Answers that
// loop do not count.
func TestPocketDraftersGuessAsWellAsTheModelCardSays(t *testing.T) {
	const answers = 8
	for _, c := range []struct {
		drafter string
		setting
		// tokens a verify forward in blocks of 8 rows: a tenth or a little more below the measured
		// figure
		least float64
	}{
		{models.PocketDrafter, setting{}, 3.0},
		{models.PocketDrafter, setting{temperature: 0.8}, 1.9},
		{models.PocketSlidingDrafter, setting{}, 3.0},
		{models.PocketSlidingDrafter, setting{temperature: 0.8}, 1.9},
	} {
		opened, err := openSpeculation(t.Context(), Options{Drafters: []string{c.drafter}})
		if err != nil {
			t.Fatal(err)
		}
		b := opened.(*speculation)
		s := b.open(way{drafter: b.drafts[0].Name(), depth: 7})
		w, counted := b.texts.code, 0
		var blocks engine.Blocks
		for _, i := range w.picks {
			a, err := s.answer(t.Context(), w, i, c.setting)
			if err != nil {
				t.Fatal(err)
			}
			if a.reject() != "" {
				continue
			}
			blocks.Add(a.stats.Blocks)
			if counted++; counted == answers {
				break
			}
		}
		s.Close()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		got := float64(blocks.Tokens) / float64(blocks.Count)
		t.Logf("%s, %s: %.2f tokens a verify forward, of %d in %d answers", c.drafter, c.setting,
			got, blocks.Count, counted)
		if counted < answers || got < c.least {
			t.Errorf("%s, %s: %.2f tokens a verify forward in %d answers, want %.1f in %d",
				c.drafter, c.setting, got, counted, c.least, answers)
		}
	}
}

// Every stage of the journey gives the same answers, the first one too, which keeps no caches. A
// drafter that was trained on scaled embeddings accepts less with raw ones.
func TestJourneyStagesGiveTheSameAnswers(t *testing.T) {
	opened, err := openJourney(t.Context(), Options{Quick: true, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var tables []benchTable
	if err := opened.(*journey).report(t.Context(), func(b benchTable) error {
		tables = append(tables, b)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(tables) != 3 || len(tables[0].Rows) != 7 || len(tables[1].Rows) != 2 ||
		len(tables[2].Rows) != 4 {
		t.Fatalf("the tables are %v", tables)
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
