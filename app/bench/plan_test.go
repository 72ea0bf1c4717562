package bench

import (
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/draft"
)

// A namesake is a drafter with a name and a size. The plan is not carried out.
type namesake struct {
	draft.Drafter
	name string
	most int
}

func (d namesake) Name() string   { return d.name }
func (d namesake) MaxDrafts() int { return d.most }

// Full lists every drafter at every block, with every rollback and rule, the adaptive ways and the
// probes. Each occurs once. Only the ways that requests get by default have a bar.
func TestFullPlanHasEveryCombinationOnce(t *testing.T) {
	one := &Workload{Prompts: []Prompt{{}}}
	scripted := &Workload{Prompts: []Prompt{{Script: []int32{1}}}}
	b := &speculation{
		options: speculationOptions{full: true},
		Contest: Contest{Drafters: []draft.Drafter{namesake{name: "dflash", most: 7},
			namesake{name: "ngram", most: 31}}},
		texts: Workloads{Code: one, copied: scripted, Edit: one, noise: scripted, after: one},
	}
	sections := b.sections()
	if len(sections) != 3*4+2 {
		t.Errorf("%d sections, want 14", len(sections))
	}
	for _, s := range sections {
		have := map[Way]int{}
		for _, w := range s.ways {
			have[w]++
			normal := w.Depth == Adaptive && w.Rollback == engine.Trim &&
				w.Rule == engine.Coupled && !w.Fused && !w.Exact
			if s.bars(w).Min > 0 && !normal {
				t.Errorf("%s: %v has a bar", s.Setting, w)
			}
		}
		rules := []engine.Rule{engine.Coupled, engine.Rejection}
		if s.Temperature == 0 {
			rules = rules[:1]
		}
		want := []Way{{Exact: true}}
		for name, depths := range map[string][]int{"dflash": {0, 1, 3, 7, Adaptive},
			"ngram": {0, 1, 3, 7, 15, Adaptive}, engine.Auto: {Adaptive}} {
			for _, depth := range depths {
				for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
					for _, rule := range rules {
						want = append(want,
							Way{Drafter: name, Depth: depth, Rollback: rollback, Rule: rule})
					}
				}
				if depth != 0 && depth <= 7 {
					want = append(want, Way{Drafter: name, Depth: depth, Exact: true})
				}
				if depth != 0 && name == "dflash" {
					want = append(want, Way{Drafter: name, Depth: depth, Fused: true})
				}
			}
		}
		for _, w := range want {
			if have[w] != 1 {
				t.Errorf("%s: %v occurs %d times, want once", s.Setting, w, have[w])
			}
		}
		if len(have) != len(want) {
			t.Errorf("%s: %d ways, want %d", s.Setting, len(have), len(want))
		}
	}
}

// In chats the choice among all drafters is compared with the fastest fixed way of any of them, also
// with one trained drafter: with n-grams, and with the drafter that goes on where a match ends.
func TestChatsHaveFixedWaysOfEveryDrafter(t *testing.T) {
	drafts := []draft.Drafter{&draft.Model{}, draft.Ngram{}}
	b := &speculation{Contest: Contest{Drafters: drafts},
		texts: Workloads{chatCode: &Workload{}, chatProse: &Workload{}}}
	sections := b.chatSections()
	if len(sections) != 4 {
		t.Fatalf("%d sections, want 4", len(sections))
	}
	for _, s := range sections {
		want := []string{"model", "ngram", "lookup+model"}
		if got := fixedDrafters(s.ways); !slices.Equal(got, want) || !s.rivals {
			t.Errorf("%s: fixed ways of %v, want %v", s, got, want)
		}
	}
}
