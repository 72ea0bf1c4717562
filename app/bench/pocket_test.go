package bench

import (
	"io"
	"testing"

	"tandem/engine"
	"tandem/models"
)

// The engine decodes code that neither the model nor its drafter was trained on. Answers that
// loop do not count.
func TestPocketDrafterGuessesAsWellAsTheModelCardSays(t *testing.T) {
	const answers = 8
	for _, c := range []struct {
		Setting
		// tokens a verify forward in blocks of 8 rows: a tenth or a little more below the measured
		// figure
		least float64
	}{
		{Setting{}, 3.0},
		{Setting{Temperature: 0.8}, 1.9},
	} {
		b, err := openSpeculation(t.Context(), speculationOptions{
			DraftOptions: DraftOptions{Drafters: []string{models.PocketDrafter}}}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		s := b.Open(Way{Drafter: b.Drafters[0].Name(), Depth: 7})
		w, counted := b.texts.Code, 0
		var blocks engine.Blocks
		for _, i := range w.Picks {
			a, err := s.Answer(t.Context(), w, i, c.Setting)
			if err != nil {
				t.Fatal(err)
			}
			if a.Reject() != "" {
				continue
			}
			blocks.Add(a.Stats.Blocks)
			if counted++; counted == answers {
				break
			}
		}
		s.Close()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		got := blocks.MeanTokens()
		t.Logf("%s: %.2f tokens a verify forward, of %d in %d answers", c.Setting, got,
			blocks.Count, counted)
		if counted < answers || got < c.least {
			t.Errorf("%s: %.2f tokens a verify forward in %d answers, want %.1f in %d", c.Setting,
				got, counted, c.least, answers)
		}
	}
}
