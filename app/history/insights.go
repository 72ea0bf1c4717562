package history

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/app/figures"
	"tandem/engine"
)

const (
	maxInsights = 3
	minCostMS   = 2000 // what cost less is not worth telling
)

// Insights tells what today's requests took, and why some were slow. It implements server.Runs.
func (h *History) Insights(ctx context.Context) (control.Insights, error) {
	now := h.now()
	y, m, d := now.Date()
	var runs []control.Run // the newest first
	err := h.db.Runs.Since(ctx, time.Date(y, m, d, 0, 0, 0, 0, now.Location()),
		func(r control.Run) { runs = append(runs, r) })
	if err != nil {
		return control.Insights{}, err
	}
	return control.Insights{Today: today(runs), Slow: insights(runs, now)}, nil
}

// insights returns the dearest reasons why runs were slow. runs are the newest first.
func insights(runs []control.Run, now time.Time) []control.Insight {
	found := slices.Concat(changed(runs), swapped(runs), queued(runs, now), plain(runs))
	found = slices.DeleteFunc(found, func(x control.Insight) bool { return x.CostMS < minCostMS })
	found = append(found, tooLong(runs)...)
	slices.SortStableFunc(found, func(a, b control.Insight) int { return cmp.Compare(b.CostMS, a.CostMS) })
	return slices.Clip(found[:min(len(found), maxInsights)])
}

// plain finds models whose answers had no drafts for a reason that a person can change, and what
// drafts gained in other answers of the same model.
func plain(runs []control.Run) []control.Insight {
	drafted := map[string][]float64{} // by model, milliseconds of a token with drafts
	for _, r := range runs {
		if ms := eachMS(r); ms > 0 && r.Verifies > 0 {
			drafted[r.Model] = append(drafted[r.Model], ms)
		}
	}
	usual := map[string]float64{}
	for model, list := range drafted {
		usual[model] = figures.Median(list)
	}
	found := map[string]*control.Insight{}
	for _, r := range runs {
		lost := (eachMS(r) - usual[r.Model]) * float64(r.CompletionTokens-1)
		if eachMS(r) == 0 || usual[r.Model] == 0 || lost <= 0 || r.Verifies > 0 || !mendable(r.NoDrafter) {
			continue
		}
		note(found, r.Model+"\x00"+r.NoDrafter, control.Insight{Kind: control.SlowPlain, Latest: r.ID,
			Models: []string{r.Model}, Why: r.NoDrafter}).CostMS += lost
	}
	return listed(found, minRuns)
}

// eachMS returns what a run took for each token after its first, 0 if that is not known.
func eachMS(r control.Run) float64 {
	if r.CompletionTokens < 2 || !single(r) {
		return 0
	}
	return writingMS(r) / float64(r.CompletionTokens-1)
}

// mendable reports whether a person can change why an answer had no drafts. Where the engine found
// plain decoding faster, or no drafter had a guess, there is nothing to change.
func mendable(why string) bool {
	return why != "" && why != engine.PlainFaster && why != engine.PlainNoGuess
}

// tooLong finds clients whose prompts did not fit. They cost no time, but they failed.
func tooLong(runs []control.Run) []control.Insight {
	found := map[string]*control.Insight{}
	for _, r := range runs {
		code, _, _ := strings.Cut(r.Error, ":") // the field at fault comes after it
		if r.FinishReason != control.FinishError || r.CompletionTokens > 0 ||
			code != string(engine.CodeContextLength) {
			continue
		}
		x := note(found, r.Client+"\x00"+r.Model, control.Insight{Kind: control.SlowTooLong,
			Latest: r.ID, Client: r.Client, Models: []string{r.Model}})
		x.Tokens = max(x.Tokens, r.PromptTokens, requested(r.Message))
	}
	return listed(found, 1)
}

// requestedTokens matches how many tokens a refused prompt had. Such a run has no other figure.
var requestedTokens = regexp.MustCompile(`you requested (?:at least )?(\d+) tokens`)

// requested returns the tokens of a refused prompt by its message, 0 if the message does not say.
func requested(message string) int {
	found := requestedTokens.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // digits
	return n
}

// note counts a run for the reason of a key, and returns that. The key's first run begins it.
func note[K comparable](found map[K]*control.Insight, key K, begun control.Insight) *control.Insight {
	if found[key] == nil {
		found[key] = &begun
	}
	found[key].Runs++
	return found[key]
}

// listed returns what was found in at least that many runs, in the order of the newest runs.
func listed[K comparable](found map[K]*control.Insight, runs int) []control.Insight {
	var list []control.Insight
	for _, x := range found {
		if x.Runs >= runs {
			list = append(list, *x)
		}
	}
	slices.SortFunc(list, func(a, b control.Insight) int { return cmp.Compare(b.Latest, a.Latest) })
	return list
}
