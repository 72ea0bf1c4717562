package bench

import (
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
