package history

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/storage"
)

const (
	mostInsights = 3
	leastCostMS  = 2000 // what cost less is no reason that a person would look for
	leastRuns    = 2    // a change of the prompt in one run alone is no habit of its client
	leastRounds  = 4    // plain rounds that tell what a step takes
	leastWaitMS  = 100  // every request waits a little until the engine takes it
)

// longestRun is how long a run takes at most, as far as it counts here. It bounds how far back others
// are looked at.
const longestRun = time.Hour

// Insights tells what today's requests took, and why some were slow. It implements server.Runs.
func (h *History) Insights(ctx context.Context) (control.Insights, error) {
	now := time.Now()
	y, m, d := now.Date()
	var runs []control.Run // the newest first
	err := h.db.RunsSince(ctx, time.Date(y, m, d, 0, 0, 0, 0, now.Location()),
		func(r storage.Run) { runs = append(runs, control.Run(r)) })
	if err != nil {
		return control.Insights{}, err
	}
	return control.Insights{Today: today(runs), Slow: insights(runs)}, nil
}

// today sums up runs.
func today(runs []control.Run) (t control.Today) {
	var speeds []float64
	reading, steps := readingMS(runs), stepMS(runs)
	for _, r := range runs {
		t.Requests++
		switch r.FinishReason {
		case control.FinishError:
			t.Failed++
		case control.FinishCancel:
			t.Stopped++
		}
		t.PromptTokens += r.PromptTokens
		t.RestoredTokens += r.CachedTokens
		if ms := writingMS(r); ms > 0 && r.CompletionTokens > 1 {
			speeds = append(speeds, 1000*float64(r.CompletionTokens-1)/ms)
		}
		t.CheckpointsMS += reading[r.Model]*float64(r.CachedTokens) - r.RestoreMS
		if step, ms := steps[r.Model], writingMS(r); step > 0 && ms > 0 && r.Verifies > 0 {
			t.DraftsMS += step*float64(r.CompletionTokens-1) - ms
		}
	}
	t.CheckpointsMS, t.DraftsMS = max(0, t.CheckpointsMS), max(0, t.DraftsMS)
	t.PerSecond = median(speeds)
	return t
}

// writingMS returns the time from a run's first token to its end, 0 if there is none.
func writingMS(r control.Run) float64 {
	if r.FirstTokenMS <= 0 || r.EndedAt.IsZero() {
		return 0
	}
	return max(0, r.TotalMS-r.FirstTokenMS)
}

// readingMS returns what each model takes for a token of a prompt, by the runs that read one.
func readingMS(runs []control.Run) map[string]float64 {
	ms, tokens := map[string]float64{}, map[string]float64{}
	for _, r := range runs {
		if n := r.PromptTokens - r.CachedTokens; n > 0 && r.PrefillMS > 0 {
			ms[r.Model] += r.PrefillMS
			tokens[r.Model] += float64(n)
		}
	}
	for model, n := range tokens {
		ms[model] /= n
	}
	return ms
}

// stepMS returns what each model takes for a round without drafts, by the runs that have some.
func stepMS(runs []control.Run) map[string]float64 {
	steps := map[string][]float64{}
	for _, r := range runs {
		if n := r.Rounds - r.Verifies; n >= leastRounds {
			if ms := writingMS(r) - r.DraftMS - r.VerifyMS; ms > 0 {
				steps[r.Model] = append(steps[r.Model], ms/float64(n))
			}
		}
	}
	out := map[string]float64{}
	for model, list := range steps {
		out[model] = median(list)
	}
	return out
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// insights returns the dearest reasons why runs were slow. runs are the newest first.
func insights(runs []control.Run) []control.Insight {
	found := slices.Concat(changed(runs), swapped(runs), queued(runs), plain(runs))
	found = slices.DeleteFunc(found, func(x control.Insight) bool { return x.CostMS < leastCostMS })
	found = append(found, tooLong(runs)...)
	slices.SortStableFunc(found, func(a, b control.Insight) int { return cmp.Compare(b.CostMS, a.CostMS) })
	return slices.Clip(found[:min(len(found), mostInsights)])
}

// changed finds clients whose prompts part at one token from an earlier one, again and again. Prompts
// that part in what was said since the last answer have nothing changed: those are new chats.
func changed(runs []control.Run) []control.Insight {
	type place struct {
		client, model string
		at            int
	}
	found := map[place]*control.Insight{}
	for _, r := range runs {
		var p control.Parted
		if r.Parted == nil || json.Unmarshal(r.Parted, &p) != nil || p.Answer || p.New {
			continue
		}
		key := place{r.Client, r.Model, p.At}
		x := found[key]
		if x == nil {
			x = &control.Insight{Kind: control.SlowChanged, Latest: r.ID, Client: r.Client,
				Models: []string{r.Model}, Parted: &p, Tokens: max(0, r.PromptTokens-r.CachedTokens)}
			found[key] = x
		}
		x.Runs++
		x.CostMS += r.PrefillMS
	}
	return listed(found, leastRuns)
}

// swapped finds loads of models that ran in turn.
func swapped(runs []control.Run) []control.Insight {
	x := control.Insight{Kind: control.SlowSwapped}
	models := map[string]bool{}
	for _, r := range runs {
		if r.LoadMS < leastCostMS/10 {
			continue
		}
		x.Latest = cmp.Or(x.Latest, r.ID)
		x.Runs++
		x.CostMS += r.LoadMS
		models[r.Model] = true
	}
	if len(models) < 2 || x.Runs <= len(models) { // each was loaded once
		return nil
	}
	x.Models = slices.Sorted(maps.Keys(models))
	return []control.Insight{x}
}

// queued finds clients whose requests waited for those of others.
func queued(runs []control.Run) []control.Insight {
	found := map[string]*control.Insight{}
	behind := map[string]map[string]time.Duration{} // by client, how long it waited while others ran
	for i := range runs {
		r := &runs[i]
		if r.QueueMS < leastWaitMS {
			continue
		}
		x := found[r.Client]
		if x == nil {
			x = &control.Insight{Kind: control.SlowQueued, Latest: r.ID, Client: r.Client}
			found[r.Client], behind[r.Client] = x, map[string]time.Duration{}
		}
		x.Runs++
		x.CostMS += r.QueueMS
		for other := range near(runs, i) {
			if d := together(r, other); d > 0 {
				behind[r.Client][other.Client] += d
			}
		}
	}
	for client, x := range found {
		most := time.Duration(0)
		for _, other := range slices.Sorted(maps.Keys(behind[client])) {
			if d := behind[client][other]; d > most {
				x.Behind, most = other, d
			}
		}
	}
	return listed(found, 1)
}

// near returns the other runs that may have gone on while run i waited. runs are the newest first.
func near(runs []control.Run, i int) iter.Seq[*control.Run] {
	from, to := runs[i].StartedAt.Add(-longestRun), waited(&runs[i])
	return func(yield func(*control.Run) bool) {
		for j := i - 1; j >= 0 && runs[j].StartedAt.Before(to); j-- {
			if !yield(&runs[j]) {
				return
			}
		}
		for j := i + 1; j < len(runs) && runs[j].StartedAt.After(from); j++ {
			if !yield(&runs[j]) {
				return
			}
		}
	}
}

// waited returns when the engine took a run.
func waited(r *control.Run) time.Time { return r.StartedAt.Add(milliseconds(r.QueueMS)) }

// together returns how long another run went on while a run waited.
func together(r, other *control.Run) time.Duration {
	if other.EndedAt.IsZero() || other.Model != r.Model {
		return 0
	}
	from, to := r.StartedAt, waited(r)
	if other.StartedAt.After(from) {
		from = other.StartedAt
	}
	if other.EndedAt.Before(to) {
		to = other.EndedAt
	}
	return to.Sub(from)
}

// plain finds models whose answers had no drafts for some reason, and what drafts gained in other
// answers of the same model.
func plain(runs []control.Run) []control.Insight {
	drafted := map[string][]float64{} // by model, milliseconds of a token with drafts
	each := func(r control.Run) float64 { return writingMS(r) / float64(max(1, r.CompletionTokens-1)) }
	for _, r := range runs {
		if r.Verifies > 0 && r.CompletionTokens > 1 && writingMS(r) > 0 {
			drafted[r.Model] = append(drafted[r.Model], each(r))
		}
	}
	usual := map[string]float64{}
	for model, list := range drafted {
		usual[model] = median(list)
	}
	found := map[string]*control.Insight{}
	for _, r := range runs {
		lost := (each(r) - usual[r.Model]) * float64(r.CompletionTokens-1)
		if r.NoDrafter == "" || r.Verifies > 0 || usual[r.Model] == 0 || lost <= 0 {
			continue
		}
		key := r.Model + "\x00" + r.NoDrafter
		x := found[key]
		if x == nil {
			x = &control.Insight{Kind: control.SlowPlain, Latest: r.ID, Models: []string{r.Model}, Why: r.NoDrafter}
			found[key] = x
		}
		x.Runs++
		x.CostMS += lost
	}
	return listed(found, leastRuns)
}

// tooLong finds clients whose prompts did not fit. They cost no time, but they failed.
func tooLong(runs []control.Run) []control.Insight {
	found := map[string]*control.Insight{}
	for _, r := range runs {
		if r.FinishReason != control.FinishError || r.CompletionTokens > 0 ||
			!strings.Contains(r.Message, "maximum context length is") {
			continue
		}
		key := r.Client + "\x00" + r.Model
		x := found[key]
		if x == nil {
			x = &control.Insight{Kind: control.SlowTooLong, Latest: r.ID, Client: r.Client,
				Models: []string{r.Model}}
			found[key] = x
		}
		x.Runs++
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
	n, err := strconv.Atoi(found[1])
	if err != nil {
		return 0
	}
	return n
}

// listed returns what was found in at least so many runs, in the order of the newest runs.
func listed[K comparable](found map[K]*control.Insight, least int) []control.Insight {
	var list []control.Insight
	for _, x := range found {
		if x.Runs >= least {
			list = append(list, *x)
		}
	}
	slices.SortFunc(list, func(a, b control.Insight) int { return cmp.Compare(b.Latest, a.Latest) })
	return list
}
