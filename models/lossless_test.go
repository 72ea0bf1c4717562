package models_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

// bits returns how many numbers of a differ from those of b in any bit, and how many were compared.
func bits(a, b [][]float32) (differ, all int) {
	for i := range min(len(a), len(b)) {
		for j := range a[i] {
			all++
			if math.Float32bits(a[i][j]) != math.Float32bits(b[i][j]) {
				differ++
			}
		}
	}
	return differ, all
}

// A cell is one way to decode with drafts.
type cell struct {
	shape    string
	layout   cache.Layout
	rollback engine.Rollback
	depth    int // drafts; a block has a row more
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s, %s, block %d", c.shape, c.layout, c.rollback, c.depth+1)
}

// least is how often each count of accepted drafts occurs in a cell, at least.
const least = 20

// mostRequests is how many requests of a cell may be needed for that.
const mostRequests = 100

// shapes are architectures whose caches hold different things: rows, rings and the state of
// recurrent layers. layouts lists the layouts that differ.
var shapes = []struct {
	shape   string
	layouts []cache.Layout
}{
	{"qwen3", []cache.Layout{cache.Ring}}, // without windows the other is the same
	{"gemma3_text", []cache.Layout{cache.Ring, cache.Full}},
	{"qwen3_5", []cache.Layout{cache.Ring}},
}

// In the bit tier, decoding with drafts equals plain decoding in every id and every bit of every
// logit. That holds in every cell, for each drafter that Tandem serves and for one that is right as
// often as the test says. Prompts lie on both sides of the sliding window.
//
// Under OpenBLAS the same comparison must find differing bits, otherwise it compares nothing. They
// may not exceed what the speed tier allows.
func TestDraftsKeepEveryBitOfPlainDecoding(t *testing.T) {
	bit := enginetest.Bit(t)
	differ, all := 0, 0
	for _, of := range shapes {
		shape := of.shape
		for _, layout := range of.layouts {
			l := newLossless(t, shape, layout, twoLayers)
			of := l.cast()
			for _, blocks := range blockDepths {
				for _, depth := range blocks.depths {
					c := cell{shape, layout, blocks.rollback, depth}
					if !bit {
						if depth == blocks.depths[1] { // one shows it
							d, a := l.long(c, 1, false)
							differ, all = differ+d, all+a
						}
						continue
					}
					d, a := l.long(c, least, true)
					differ, all = differ+d, all+a
					l.ends(c)
					d, a = l.each(c, of)
					differ, all = differ+d, all+a
				}
			}
			if err := of.Close(); err != nil {
				t.Error(err)
			}
			l.Close()
		}
	}
	t.Logf("%d of %d logits differ", differ, all)
	if bit && differ > 0 {
		t.Errorf("%d of %d logits differ in the bit tier", differ, all)
	}
	if !bit && differ == 0 {
		t.Error("no logit differs under OpenBLAS, so the test compares nothing")
	}
}

// blockDepths are the depths of drafts under each way to take rows back. Under Undo a block also
// carries accepted rows, so depth 7 has the lengths of depth 3 too.
var blockDepths = []struct {
	rollback engine.Rollback
	depths   []int
}{
	{engine.Trim, []int{1, 3, 7, 15}},
	{engine.Undo, []int{1, 7, 15}},
}

// long decodes until each count of accepted drafts has occurred often enough. With exact, rings
// must also have started over at each row of a block, at any if once is enough. It returns how many logits differ, and how
// many were compared.
func (l *lossless) long(c cell, least int, exact bool) (differ, all int) {
	l.t.Helper()
	histogram := make([]int, c.depth+1)
	turns := make([]int, c.depth+1)
	rng := rand.New(rand.NewPCG(1, uint64(c.depth)))
	var wrong []int // of the next rounds
	turned := slices.Min[[]int]
	if least == 1 {
		turned = slices.Max[[]int]
	}
	rings := exact && !l.ringless
	for i := 0; slices.Min(histogram) < least || rings && turned(turns) == 0; i++ {
		which := i % 6
		r := engine.Request{
			Prompt:    l.prompt([]int{5, 60, 17}[which%3], which), // the window is 16
			MaxTokens: new(l.length), IgnoreEOS: true, Seed: new(uint64(which)),
		}
		if which%2 == 1 {
			r.Sampling = sample.Params{Temperature: 0.8, TopP: 0.95, RepetitionPenalty: 1.1}
		}
		want := l.plain(fmt.Sprint("long ", which), r, 0)
		l.drafter.Wrong = func(_, n int) int {
			if len(wrong) == 0 {
				wrong = rng.Perm(c.depth + 1)
			}
			next := wrong[0]
			wrong = wrong[1:]
			return min(next, n)
		}
		r.Speculation = engine.Speculation{Depth: &c.depth, Rollback: c.rollback}
		got := l.say(r, 0)
		l.drafter.Wrong = nil
		d, a := bits(got.logits, want.logits)
		differ, all = differ+d, all+a
		if exact && (!slices.Equal(got.ids, want.ids) || got.text != want.text || d > 0) {
			l.t.Errorf("%s, request %d: %d of %d logits differ; ids %v, want %v", c, i, d, a,
				got.ids, want.ids)
			return differ, all
		}
		st := got.stats
		for i, n := range st.Depths {
			if n == c.depth { // the last ones of a request have fewer
				histogram[st.Accepts[i]]++
			}
		}
		if !exact {
			l.near(c, got, want)
			break
		}
		pos := len(r.Prompt) // of the newest token
		for i, n := range st.Depths {
			for row := range n + 1 {
				if n == c.depth && (pos+row)%ringRows == 0 {
					turns[row]++
				}
			}
			pos += 1 + st.Accepts[i]
		}
		if i > mostRequests { // a row or a count is never reached
			l.t.Errorf("%s: after %d requests %v rounds accepted 0, 1, ... drafts, want %d each; rings started over at row 0, 1, ... in %v",
				c, i+1, histogram, least, turns)
			return differ, all
		}
	}
	l.t.Logf("%s: %v rounds accepted 0, 1, ... drafts; rings started over at row 0, 1, ... in %v",
		c, histogram, turns)
	return differ, all
}

// near holds a greedy answer to the rule of the speed tier. A logit may be off by 1e-5 of the
// largest one. A token may differ if it and plain decoding's are the best two and nearly equal. The
// texts differ after that, so the comparison ends there.
func (l *lossless) near(c cell, got, want saying) {
	l.t.Helper()
	worst := 0.0
	for i, row := range want.logits {
		largest := 0.0
		for _, x := range row {
			largest = max(largest, math.Abs(float64(x)))
		}
		off := 0.0
		for j, x := range row {
			off = max(off, math.Abs(float64(got.logits[i][j])-float64(x))/largest)
		}
		if worst = max(worst, off); !(off <= 1e-5) {
			l.t.Errorf("%s, token %d: logits are off by %g of the largest", c, i, off)
		}
		said, plain := got.ids[i], want.ids[i]
		if said == plain {
			continue
		}
		better := 0 // tokens that are likelier than the said one
		for _, x := range row {
			if x > row[said] {
				better++
			}
		}
		gap := row[plain] - row[said]
		if better > 1 || gap > 1e-4 {
			l.t.Errorf("%s, token %d is %d, want %d; %d tokens are likelier, the wanted one by %g",
				c, i, said, plain, better, gap)
		}
		l.t.Logf("%s, token %d: %d for %d, %g apart", c, i, said, plain, gap)
		return
	}
	l.t.Logf("%s: %d tokens, logits off by at most %.2g of the largest", c, len(want.ids), worst)
}

// ringRows is the size of a ring. A window of 16 takes 15 rows, as the newest token has its own
// row. A chunk takes 32.
const ringRows = 15 + 32

// ends lets a generation end on every row of a block, in every way.
func (l *lossless) ends(c cell) {
	l.t.Helper()
	r := engine.Request{Prompt: l.prompt(23, 0), MaxTokens: new(90), Seed: new(uint64(1)),
		Sampling: sample.Params{Temperature: 1}}
	r.IgnoreEOS = true
	all := l.plain("end", r, 0)
	for row := range c.depth + 1 {
		for _, how := range []string{"eos", "stop text", "max_tokens", "cancel"} {
			r := r
			r.IgnoreEOS = false
			cut, at := 0, 0
			switch how {
			case "eos":
				for at = 30; slices.Contains(all.ids[:at], all.ids[at]); at++ {
				}
				l.model.eos = []int32{all.ids[at]}
			case "stop text":
				// A letter that no earlier token holds.
				for at = 30; !plainLetter(all.ids[at]) ||
					slices.Contains(all.ids[:at], all.ids[at]); at++ {
				}
				r.Stop = []string{string(rune(all.ids[at]))}
			case "max_tokens":
				at = 29
				r.MaxTokens = new(at + 1)
			case "cancel":
				at = 29
				cut = at + 1
			}
			want := l.plain(how, r, cut)
			// The first round accepts as many drafts as put the end on row. Token 0 comes from the
			// prompt, and the first round gives tokens 1 to first+1.
			first := (((at - 2 - row) % (c.depth + 1)) + c.depth + 1) % (c.depth + 1)
			l.drafter.Wrong = func(round, n int) int {
				if round == 0 {
					return min(first, n)
				}
				return n
			}
			r.Speculation = engine.Speculation{Depth: &c.depth, Rollback: c.rollback}
			got := l.say(r, cut)
			l.drafter.Wrong = nil
			l.model.eos = nil
			if d, a := bits(got.logits, want.logits); d > 0 || !slices.Equal(got.ids, want.ids) ||
				got.text != want.text || got.finish != want.finish {
				l.t.Errorf("%s, %s on row %d: %d of %d logits differ; %v %q %s, want %v %q %s", c,
					how, row, d, a,
					got.ids, got.text, got.finish, want.ids, want.text, want.finish)
			}
			if got.row != row || len(got.stats.Depths) < 2 {
				l.t.Errorf("%s, %s: on row %d of round %d, want row %d", c, how, got.row,
					len(got.stats.Depths), row)
			}
			if len(got.ids) != at+1 {
				l.t.Errorf("%s, %s on row %d: %d tokens, want %d", c, how, row, len(got.ids), at+1)
			}
		}
	}
}

func plainLetter(id int32) bool {
	return id < 128 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
		rune(id))
}
