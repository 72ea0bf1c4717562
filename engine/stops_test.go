package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

// stopsAfter returns a Stopper that looks for stop texts after the first from bytes of a
// generation.
func stopsAfter(from int, stop ...string) func() func(string) string {
	return func() func(string) string {
		left, stops := from, Stops{Texts: stop}
		return func(text string) string {
			n := min(left, len(text))
			left -= n
			stops.Push(text[n:])
			return stops.Found
		}
	}
}

// TestStopperEndsOnAnyRow expects that a stop text ends the answer on any row of a block. It counts
// from where the request says, wherever the answer was cut before. The text stays whole.
func TestStopperEndsOnAnyRow(t *testing.T) {
	const round = "abcdefgh" // the model repeats it
	table := make([][]float32, 256)
	for i := range table {
		table[i] = make([]float32, 256)
	}
	for i := range round {
		table[round[i]][round[(i+1)%len(round)]] = 10
	}
	all := strings.Repeat(round, 12)
	d := &enginetest.Scripted{Vocab: 256, Text: []int32("h" + all)}
	f := newFixture(t, table, Options{Drafters: []draft.Drafter{d}})
	for _, way := range []Speculation{{Drafter: None}, {Depth: new(7), Rollback: Trim},
		{Depth: new(7), Rollback: Undo}, {Depth: new(2)}} {
		for from := range 2 * len(round) {
			end := from + strings.Index(all[from:], "cd") + 2
			for _, cut := range []int{0, 1, end / 2, end - 1, end, end + 3} {
				what := fmt.Sprintf("%s %s, from %d, cut after %d",
					way.Drafter, way.Rollback, from, cut)
				r := Request{Prompt: []int32{'h'}, Generated: []int32(all[:cut]),
					MaxTokens: new(60), Stop: []string{"b"}, Stopper: stopsAfter(from, "cd", "zz"),
					Speculation: way}
				tokens, text, stats := f.run(t, r)
				if text != all[:end] || len(tokens) != end || stats.CompletionTokens != end {
					t.Errorf("%s: %d tokens, %q, want %q",
						what, stats.CompletionTokens, text, all[:end])
					continue
				}
				last := tokens[end-1]
				if last.Finish != FinishStop || last.Stop != "cd" || stats.Finish != FinishStop ||
					slices.ContainsFunc(tokens[:end-1],
						func(tok Token) bool { return tok.Stop != "" }) {
					t.Errorf("%s: the answer ends with %+v", what, last)
				}
			}
		}
	}
}

// TestStopTextCompletedByTheFlush flushes text at the end that completes a stop text. The Stopper
// gets this text too.
func TestStopTextCompletedByTheFlush(t *testing.T) {
	f := newFixture(t, script("ab\xc3"), Options{})
	tokens, text, stats := f.run(t, Request{Prompt: []int32{'a'}, MaxTokens: new(2),
		Stopper: stopsAfter(1, "\uFFFD")})
	if text != "b\uFFFD" || stats.Finish != FinishStop || tokens[1].Stop != "\uFFFD" {
		t.Errorf("text %q, %+v", text, tokens)
	}
}
