package history

import (
	"cmp"
	"encoding/json"
	"slices"

	"tandem/app/control"
)

const (
	minRuns = 2 // one changed prompt is not a pattern

	// onePlace is how many tokens the places of one change are apart at most. A time of day changes
	// at its minutes, or at its tens of minutes.
	onePlace = 8
)

// A change is a run whose prompt parts from an earlier one.
type change struct {
	run        *control.Run
	divergence control.Divergence
	tokens     int // that were read again
}

// cost returns the share of the reading that was done again.
func (c change) cost() float64 {
	all := c.run.PromptTokens - c.run.CachedTokens
	if all <= 0 {
		return readMS(*c.run)
	}
	return readMS(*c.run) * float64(c.tokens) / float64(all)
}

// changed finds clients whose prompts part at one place from an earlier one, again and again.
func changed(runs []control.Run) []control.Insight {
	type asker struct{ client, model string }
	all := map[asker][]change{}
	for _, c := range changes(runs) {
		key := asker{c.run.Client, c.run.Model}
		all[key] = append(all[key], c)
	}
	type place struct {
		asker
		at int // of the first of its runs in the prompt
	}
	found := map[place]*control.Insight{}
	for key, list := range all {
		slices.SortFunc(list, func(a, b change) int { return cmp.Compare(a.divergence.At, b.divergence.At) })
		at := place{key, list[0].divergence.At}
		for _, c := range list {
			if c.divergence.At > at.at+onePlace {
				at.at = c.divergence.At
			}
			x := note(found, at, control.Insight{Kind: control.SlowChanged, Client: key.client,
				Models: []string{key.model}})
			if c.run.ID > x.Latest {
				x.Latest, x.Divergence, x.Tokens = c.run.ID, &c.divergence, c.tokens
			}
			x.CostMS += c.cost()
		}
	}
	return listed(found, minRuns)
}

// changes returns the runs whose prompts part from an earlier one of the same client. Prompts that
// part in what was said since the last answer have nothing changed: those are new chats.
func changes(runs []control.Run) (list []change) {
	byID := make(map[int64]*control.Run, len(runs))
	for i := range runs {
		byID[runs[i].ID] = &runs[i]
	}
	for i := range runs {
		c := change{run: &runs[i]}
		p := &c.divergence
		if c.run.Divergence == nil || json.Unmarshal(c.run.Divergence, p) != nil || p.Answer || p.New {
			continue
		}
		c.tokens = max(0, c.run.PromptTokens-c.run.CachedTokens)
		if p.Run != 0 {
			kept := byID[p.Run]
			if kept == nil || control.Program(kept.Client) != control.Program(c.run.Client) {
				continue // it is not known whose text that was, or it is another program's
			}
			// No more than the kept text had after the place was read before. Without its figures,
			// that is not known.
			if rest := kept.PromptTokens + kept.CompletionTokens - p.At; rest > 0 {
				c.tokens = min(c.tokens, rest)
			}
		}
		list = append(list, c)
	}
	return list
}
