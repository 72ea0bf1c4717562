package bench

import (
	"cmp"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
)

// benchBlocks are the fixed block sizes: a block of 1 drafts nothing.
var benchBlocks = []int{1, 2, 4, 8, 16}

// The bars for adaptive depth, which is the default of every request.
var (
	codeGreedyBar  = figures.Bar{Least: 1.5, Aim: 2}
	codeSampledBar = figures.Bar{Least: 1, Aim: 1.3}
	editBar        = figures.Bar{Least: 2}
	shuffledBar    = figures.Bar{Least: 0.97} // of plain decoding, warm and from a cold start
	adaptiveBar    = figures.Bar{Least: 0.97} // of the best fixed block
)

// A section lists the ways that are measured on one workload in one setting.
type section struct {
	*workload
	setting
	ways []way
	bars func(way) figures.Bar

	// rivals compares adaptive depth with the fastest fixed block of each drafter, and the choice
	// among all drafters with the fastest of all; or with plain decoding if that is faster. more are
	// other ways of the first drafter, at that block and adaptively.
	rivals bool
	more   []way // drafter and depth are filled in
}

func (s section) String() string { return s.name + ", " + s.setting.String() }

// target returns how many times as fast as plain decoding a section should be.
func (s section) target() float64 {
	least := 0.0
	for _, w := range s.ways {
		if s.bars != nil {
			least = max(least, s.bars(w).Least)
		}
	}
	return cmp.Or(least, 1)
}

// sections returns the plan of the bench.
func (b *speculation) sections() []section {
	if b.options.Full {
		return b.everything()
	}
	var list []section
	greedy, sampled := setting{}, setting{temperature: sampledTemperature}
	w := b.texts
	network := b.drafts[:len(b.drafts)-1] // the last is the n-gram drafter
	last := b.drafts[len(b.drafts)-1]
	blocks := benchBlocks
	if b.options.Quick {
		blocks = []int{4}
	}
	for _, set := range []setting{greedy, sampled} {
		s := section{workload: w.code, setting: set, rivals: true, bars: b.codeBar(set)}
		for _, d := range network {
			s.ways = append(s.ways, fixed(d, blocks)...)
			s.ways = append(s.ways, way{drafter: d.Name(), depth: adaptive})
		}
		s.ways = append(s.ways, fixed(last, blocks)...)
		s.ways = append(s.ways, b.adaptives()[len(network):]...)
		s.more = []way{{rollback: engine.Undo}}
		if set.temperature > 0 {
			s.more = append(s.more, way{rule: engine.Rejection})
		} else {
			s.ways = append(s.ways, way{exact: true})
			s.more = append(s.more, way{fused: true}, way{exact: true})
		}
		list = append(list, s)
	}
	for _, set := range []setting{{ignoreEOS: true},
		{temperature: sampledTemperature, ignoreEOS: true}} {
		d := b.drafts[0]
		list = append(list, section{workload: w.code, setting: set,
			ways: append(fixed(d, []int{4, 8}), way{drafter: d.Name(), depth: adaptive})})
	}
	edits := func(w *workload) section {
		return section{workload: w, setting: greedy, rivals: w.prompts[0].script != nil,
			ways: append(fixed(last, blocks), b.adaptives()[len(network):]...),
			bars: onlyAdaptive(editBar, func(w way) bool { return w.drafter == last.Name() }),
		}
	}
	list = append(list, edits(w.copied), edits(w.edit))
	for _, d := range []struct {
		*workload
		setting
	}{{w.noise, greedy}, {w.after, setting{temperature: 1}}} {
		list = append(list, section{workload: d.workload, setting: d.setting,
			ways: append(fixed(b.drafts[0], []int{4}), b.adaptives()...),
			bars: onlyAdaptive(shuffledBar, func(way) bool { return true }),
		})
	}
	return append(list, b.chatSections()...)
}

// everything returns every combination, on all workloads.
func (b *speculation) everything() []section {
	var list []section
	for _, w := range []*workload{b.texts.code, b.texts.copied, b.texts.edit, b.texts.noise,
		b.texts.after} {
		for _, temperature := range []float64{0, sampledTemperature} {
			for _, ignore := range []bool{false, true} {
				set := setting{temperature, ignore}
				scripted := w.prompts[0].script != nil
				if scripted && (temperature > 0 || ignore) {
					continue // a dictated text is the same in every setting
				}
				s := section{workload: w, setting: set, rivals: true, bars: b.codeBar(set)}
				switch w {
				case b.texts.copied, b.texts.edit:
					s.bars = onlyAdaptive(editBar,
						func(w way) bool { return w.drafter == draft.Ngram{}.Name() })
				case b.texts.noise, b.texts.after:
					s.bars = onlyAdaptive(shuffledBar, func(way) bool { return true })
				}
				rules := []engine.Rule{engine.Coupled, engine.Rejection}
				if temperature == 0 {
					rules = rules[:1] // both rules judge greedy drafts alike
				}
				for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
					for _, rule := range rules {
						for _, one := range b.each(benchBlocks) {
							one.rollback, one.rule = rollback, rule
							s.ways = append(s.ways, one)
						}
					}
				}
				s.ways = append(s.ways, b.probes()...)
				list = append(list, s)
			}
		}
	}
	return list
}

// each returns every drafter's ways of fixed block size, then the adaptive ways.
func (b *speculation) each(blocks []int) []way {
	var list []way
	for _, d := range b.drafts {
		list = append(list, fixed(d, blocks)...)
	}
	return append(list, b.adaptives()...)
}

// probes returns the ways for a request's other options. One is draft and verify in one graph, for
// drafters whose draft is a graph. The other is exact decoding, with and without drafts.
func (b *speculation) probes() []way {
	list := []way{{exact: true}}
	for _, one := range b.each(benchBlocks) {
		if one.depth == 0 {
			continue
		}
		if one.drafter != engine.Auto && one.drafter != (draft.Ngram{}).Name() {
			fused := one
			fused.fused = true
			list = append(list, fused)
		}
		if one.depth <= engine.MaxExactDepth {
			one.exact = true
			list = append(list, one)
		}
	}
	return list
}

// fixed lists a drafter's ways of fixed block size.
func fixed(d draft.Drafter, blocks []int) []way {
	var list []way
	for _, rows := range blocks {
		if rows-1 <= d.MaxDrafts() {
			list = append(list, way{drafter: d.Name(), depth: rows - 1})
		}
	}
	return list
}

// adaptives returns the ways that choose their depth: each drafter by itself, in order, then all
// together if there are several.
func (b *speculation) adaptives() []way {
	var list []way
	for _, d := range b.drafts {
		list = append(list, way{drafter: d.Name(), depth: adaptive})
	}
	if len(b.drafts) > 1 {
		list = append(list, way{drafter: engine.Auto, depth: adaptive})
	}
	return list
}

// onlyAdaptive returns a function that gives b to the adaptive ways with default options that
// satisfy of, and no bar to others.
func onlyAdaptive(b figures.Bar, of func(way) bool) func(way) figures.Bar {
	return func(w way) figures.Bar {
		if w.depth == adaptive && !w.fused && !w.exact &&
			cmp.Or(w.rollback, engine.Trim) == engine.Trim &&
			cmp.Or(w.rule, engine.Coupled) == engine.Coupled && of(w) {
			return b
		}
		return figures.Bar{}
	}
}

// codeBar returns the bars for code: for drafters that read the target, and for all drafters
// together.
func (b *speculation) codeBar(set setting) func(way) figures.Bar {
	least := codeGreedyBar
	if set.temperature > 0 {
		least = codeSampledBar
	}
	return onlyAdaptive(least,
		func(w way) bool { return w.drafter != draft.Ngram{}.Name() && !set.ignoreEOS })
}
