package evidence

import (
	"slices"
	"strings"
)

// loops looks for answers that fell into a loop: drafts guess those too well. A slower run claims
// nothing that a loop could flatter, if it is slower in decoding alone too.
func (c *checker) loops(f *facts) {
	t := c.report.Throughput
	if max(value(t.Speedup), value(part(t.DecodeOnly).Speedup)) <= 1 {
		return
	}
	rows, texts := f.crossTimes.Rows, f.cross.Decoded
	uncounted := slices.IndexFunc(rows, func(r Row) bool { return r.LoopedFrom == nil })
	switch {
	case f.own && len(texts) != len(rows):
		c.add(OutputDegenerate, crossTexts, "%d of %d answers have a text, so nobody sees whether the "+
			"others loop; write each", len(texts), len(rows))
		return
	case f.own && uncounted >= 0:
		c.add(OutputDegenerate, crossRows+index(uncounted)+".looped_from", "the row does not say "+
			"whether its answer loops; write the token at which a loop begins, or 0")
		return
	}
	var looped []string // places
	for i := range max(len(rows), len(texts)) {
		switch {
		case i < len(rows) && rows[i].loops():
			looped = append(looped, crossRows+index(i))
		case i < len(texts) && (degenerate(texts[i]) || repeats(texts[i])):
			looped = append(looped, crossTexts+index(i))
		}
	}
	if len(looped) > 0 {
		c.add(OutputDegenerate, looped[0], "%d of %d answers fell into a loop, so their speed says "+
			"little; withhold the speed-up", len(looped), max(len(rows), len(texts)))
	}
}

// loops reports whether the writer saw the answer loop.
func (r Row) loops() bool {
	stopped := part(r.Fused).StoppedLooped
	return value(r.LoopedFrom) > 0 || stopped != nil && *stopped
}

// What makes a text degenerate: short lines that repeat, or a short unit that fills its end.
const (
	loopLines      = 8  // equal lines one after the other
	loopLineRunes  = 12 // the longest of them
	loopUnitRunes  = 8  // the longest unit
	loopUnits      = 8  // units one after the other at the end
	loopTotalRunes = 16 // what they cover at least
)

// degenerate reports whether a text has fallen into a loop. Lists and templates do not.
func degenerate(text string) bool {
	repeats, last := 0, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case line == last:
			repeats++
		default:
			repeats, last = 1, line
		}
		if repeats >= loopLines && len([]rune(line)) <= loopLineRunes {
			return true
		}
	}
	return endsInLoop([]rune(strings.TrimSpace(text)))
}

// endsInLoop reports whether a text ends in a short unit that repeats.
func endsInLoop(text []rune) bool {
	for unit := 1; unit <= loopUnitRunes; unit++ {
		// Runes that equal the one a unit before make the loop, after its first unit.
		equal := 0
		for i := len(text) - 1; i >= unit && text[i] == text[i-unit]; i-- {
			equal++
		}
		if n := equal/unit + 1; n >= loopUnits && n*unit >= loopTotalRunes {
			return true
		}
	}
	return false
}

// What makes a text repeat itself, in the terms of its runes: about what engine calls a loop of tokens.
const (
	repeatGram  = 16      // runes in a row, white space as one
	repeatRunes = 96      // a shorter text counts as no loop
	repeatMost  = 1 << 16 // of a longer text, so many runes at its end are looked at
)

// repeats reports whether fewer than half of the grams of a text are distinct. A chat may list or
// tabulate so, but drafts guess such a text well.
func repeats(text string) bool {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) < repeatRunes {
		return false
	}
	runes = runes[max(0, len(runes)-repeatMost):]
	grams := len(runes) - repeatGram + 1
	seen := make(map[[repeatGram]rune]bool, grams)
	for i := range grams {
		seen[[repeatGram]rune(runes[i:])] = true
	}
	return 2*len(seen) < grams
}
