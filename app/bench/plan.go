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
	codeGreedyBar  = figures.Bar{Min: 1.5, Aim: 2}
	codeSampledBar = figures.Bar{Min: 1, Aim: 1.3}
	editBar        = figures.Bar{Min: 2}
	shuffledBar    = figures.Bar{Min: 0.97} // of plain decoding, warm and from a cold start
	adaptiveBar    = figures.Bar{Min: 0.97} // of the best fixed block
)

// A section lists the ways that are measured on one workload in one setting.
type section struct {
	*Workload
	Setting
	ways []Way
	bars func(Way) figures.Bar

	// rivals compares adaptive depth with the fastest fixed block of each drafter, and the choice
	// among all drafters with the fastest of all; or with plain decoding if that is faster. more are
	// other ways of the first drafter, at that block and adaptively.
	rivals bool
	more   []Way // drafter and depth are filled in
}

func (s section) String() string { return s.Name + ", " + s.Setting.String() }

// target returns how many times as fast as plain decoding a section should be.
func (s section) target() float64 {
	ratio := 0.0
	for _, w := range s.ways {
		if s.bars != nil {
			ratio = max(ratio, s.bars(w).Min)
		}
	}
	return cmp.Or(ratio, 1)
}

// sections returns the plan of the bench.
func (b *speculation) sections() []section {
	if b.options.full {
		return b.measureAll()
	}
	var list []section
	greedy, sampled := Setting{}, Setting{Temperature: sampledTemperature}
	w := b.texts
	network := b.Drafters[:len(b.Drafters)-1] // the last is the n-gram drafter
	last := b.Drafters[len(b.Drafters)-1]
	blocks := benchBlocks
	if b.options.quick {
		blocks = []int{4}
	}
	for _, set := range []Setting{greedy, sampled} {
		s := section{Workload: w.Code, Setting: set, rivals: true, bars: b.codeBar(set)}
		for _, d := range network {
			s.ways = append(s.ways, fixed(d, blocks)...)
			s.ways = append(s.ways, Way{Drafter: d.Name(), Depth: Adaptive})
		}
		s.ways = append(s.ways, fixed(last, blocks)...)
		s.ways = append(s.ways, b.adaptives()[len(network):]...)
		s.more = []Way{{Rollback: engine.Undo}}
		if set.Temperature > 0 {
			s.more = append(s.more, Way{Rule: engine.Rejection})
		} else {
			s.ways = append(s.ways, Way{Exact: true})
			s.more = append(s.more, Way{Fused: true}, Way{Exact: true})
		}
		list = append(list, s)
	}
	for _, set := range []Setting{{IgnoreEOS: true},
		{Temperature: sampledTemperature, IgnoreEOS: true}} {
		d := b.Drafters[0]
		list = append(list, section{Workload: w.Code, Setting: set,
			ways: append(fixed(d, []int{4, 8}), Way{Drafter: d.Name(), Depth: Adaptive})})
	}
	edits := func(w *Workload) section {
		return section{Workload: w, Setting: greedy, rivals: w.Prompts[0].Script != nil,
			ways: append(fixed(last, blocks), b.adaptives()[len(network):]...),
			bars: onlyAdaptive(editBar, func(w Way) bool { return w.Drafter == last.Name() }),
		}
	}
	list = append(list, edits(w.copied), edits(w.Edit))
	for _, d := range []struct {
		*Workload
		Setting
	}{{w.noise, greedy}, {w.after, Setting{Temperature: 1}}} {
		list = append(list, section{Workload: d.Workload, Setting: d.Setting,
			ways: append(fixed(b.Drafters[0], []int{4}), b.adaptives()...),
			bars: onlyAdaptive(shuffledBar, func(Way) bool { return true }),
		})
	}
	return append(list, b.chatSections()...)
}

// measureAll returns every combination, on all workloads.
func (b *speculation) measureAll() []section {
	var list []section
	for _, w := range []*Workload{b.texts.Code, b.texts.copied, b.texts.Edit, b.texts.noise,
		b.texts.after} {
		for _, temperature := range []float64{0, sampledTemperature} {
			for _, ignore := range []bool{false, true} {
				set := Setting{temperature, ignore}
				scripted := w.Prompts[0].Script != nil
				if scripted && (temperature > 0 || ignore) {
					continue // a dictated text is the same in every setting
				}
				s := section{Workload: w, Setting: set, rivals: true, bars: b.codeBar(set)}
				switch w {
				case b.texts.copied, b.texts.Edit:
					s.bars = onlyAdaptive(editBar,
						func(w Way) bool { return w.Drafter == draft.Ngram{}.Name() })
				case b.texts.noise, b.texts.after:
					s.bars = onlyAdaptive(shuffledBar, func(Way) bool { return true })
				}
				rules := []engine.Rule{engine.Coupled, engine.Rejection}
				if temperature == 0 {
					rules = rules[:1] // both rules judge greedy drafts alike
				}
				for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
					for _, rule := range rules {
						for _, one := range b.each(benchBlocks) {
							one.Rollback, one.Rule = rollback, rule
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
func (b *speculation) each(blocks []int) []Way {
	var list []Way
	for _, d := range b.Drafters {
		list = append(list, fixed(d, blocks)...)
	}
	return append(list, b.adaptives()...)
}

// probes returns the ways for a request's other options. One is draft and verify in one graph, for
// drafters whose draft is a graph. The other is exact decoding, with and without drafts.
func (b *speculation) probes() []Way {
	list := []Way{{Exact: true}}
	for _, one := range b.each(benchBlocks) {
		if one.Depth == 0 {
			continue
		}
		if one.Drafter != engine.Auto && one.Drafter != (draft.Ngram{}).Name() {
			fused := one
			fused.Fused = true
			list = append(list, fused)
		}
		if one.Depth <= engine.MaxExactDepth {
			one.Exact = true
			list = append(list, one)
		}
	}
	return list
}

// fixed lists a drafter's ways of fixed block size.
func fixed(d draft.Drafter, blocks []int) []Way {
	var list []Way
	for _, rows := range blocks {
		if rows-1 <= d.MaxDrafts() {
			list = append(list, Way{Drafter: d.Name(), Depth: rows - 1})
		}
	}
	return list
}

// adaptives returns the ways that choose their depth: each drafter by itself, in order, then all
// together if there are several.
func (b *speculation) adaptives() []Way {
	var list []Way
	for _, d := range b.Drafters {
		list = append(list, Way{Drafter: d.Name(), Depth: Adaptive})
	}
	if len(b.Drafters) > 1 {
		list = append(list, Way{Drafter: engine.Auto, Depth: Adaptive})
	}
	return list
}

// onlyAdaptive returns a function that gives b to the adaptive ways with default options that
// satisfy of, and no bar to others.
func onlyAdaptive(b figures.Bar, of func(Way) bool) func(Way) figures.Bar {
	return func(w Way) figures.Bar {
		if w.Depth == Adaptive && !w.Fused && !w.Exact &&
			cmp.Or(w.Rollback, engine.Trim) == engine.Trim &&
			cmp.Or(w.Rule, engine.Coupled) == engine.Coupled && of(w) {
			return b
		}
		return figures.Bar{}
	}
}

// codeBar returns the bars for code: for drafters that read the target, and for all drafters
// together.
func (b *speculation) codeBar(set Setting) func(Way) figures.Bar {
	bar := codeGreedyBar
	if set.Temperature > 0 {
		bar = codeSampledBar
	}
	return onlyAdaptive(bar,
		func(w Way) bool { return w.Drafter != draft.Ngram{}.Name() && !set.IgnoreEOS })
}
