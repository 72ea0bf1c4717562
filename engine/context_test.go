package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// A chronicle is a drafter that guesses rightly. It keeps a row for each committed token, made from
// that token.
type chronicle struct {
	name     string // empty for chronicle
	text     []int32
	silent   bool  // proposes no tokens
	more     int   // caches of a context besides the first
	restored []int // rows that each draft began with
}

func (d *chronicle) Name() string   { return cmp.Or(d.name, "chronicle") }
func (d *chronicle) Taps() []int    { return nil }
func (d *chronicle) MaxDrafts() int { return 7 }

func (d *chronicle) NewContext(cache.Options) cache.Stack {
	context := cache.Stack{cache.NewKV(0)}
	for range d.more {
		context = append(context, cache.NewKV(0))
	}
	return context
}

func (d *chronicle) Open(s *mlx.Scope, o draft.Options) (draft.Draft, error) {
	t := &entries{d, o.Context, o.From}
	if t.caches == nil {
		t.caches, t.first = d.NewContext(o.Caches), o.From
	} else {
		d.restored = append(d.restored, t.caches[0].Offset())
		t.first = 0
	}
	return t, nil
}

// entries are the draft of one request.
type entries struct {
	*chronicle
	caches cache.Stack
	first  int // position of the first row
}

// Peek implements draft.Peeker.
func (t *entries) Peek(_ []int32, n int) int {
	if t.silent {
		return 0
	}
	return n
}

func (t *entries) Propose(s *mlx.Scope, history []int32, n int) draft.Proposal {
	if at := t.first + t.caches[0].Offset(); at != len(history)-1 {
		s.Fail(fmt.Errorf("a context of %d rows after %d tokens", at, len(history)))
	}
	next := t.text[len(history):min(len(history)+n, len(t.text))]
	if len(next) == 0 {
		return draft.Proposal{}
	}
	return draft.Proposal{N: len(next), Tokens: mlx.New(s, next, len(next))}
}

func (t *entries) Committed(s *mlx.Scope, tokens []int32, from int, _ []*mlx.Array) {
	values := make([]float32, len(tokens))
	for i, id := range tokens {
		values[i] = float32(id)
	}
	x := mlx.New(s, values, 1, 1, len(values), 1)
	for _, c := range t.caches {
		c.(cache.Attention).Update(s, x, x)
	}
}

func (t *entries) Keep(s *mlx.Scope, from, to int) ([]*cache.Snapshot, error) {
	if t.first > 0 {
		return nil, nil
	}
	if n := t.caches[0].Offset(); n < to {
		return nil, fmt.Errorf("a context of %d rows is asked for %d", n, to)
	}
	var kept []*cache.Snapshot
	for _, c := range t.caches {
		p, err := c.Snapshot(s, from)
		if err == nil && p.To() != to {
			all := p
			var tail *cache.Snapshot
			if p, tail, err = all.Split(s, to); err == nil {
				tail.Release()
			}
			all.Release()
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, p)
	}
	return kept, nil
}

func (t *entries) Arrays() []*mlx.Array { return t.caches.Arrays() }
func (t *entries) Free(s *mlx.Scope)    { t.caches.Free(s) }

// TestDraftContextComesBackWithItsCheckpoint expects that each checkpoint of an answer keeps the
// draft's context, in plain steps and in blocks. The deepest checkpoint brings the whole context
// back.
func TestDraftContextComesBackWithItsCheckpoint(t *testing.T) {
	script := counting(0, 1000)
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for i, how := range []Speculation{{Depth: new(3)}, {Depth: new(3)},
			{Depth: new(7), Rollback: Undo}} {
			d := &chronicle{text: script, silent: i == 0}
			f := recalling(t, layout, Options{Drafters: []draft.Drafter{d}})
			r := Request{Prompt: script[:30], MaxTokens: new(300), Speculation: how}
			if stats, text := f.ask(t, r); !slices.Equal(text, script[:330]) ||
				(stats.Drafted == 0) != d.silent {
				t.Fatalf("%v, way %d: %d drafts, %s", layout, i, stats.Drafted, stats.NoDrafter)
			}
			for _, at := range []int{100, 200, 330} {
				d.restored = nil
				r := Request{Prompt: script[:at], MaxTokens: new(5), Speculation: how}
				stats, _ := f.ask(t, r)
				if !slices.Equal(d.restored, []int{stats.CachedTokens}) ||
					stats.CachedTokens <= at-66 {
					t.Errorf("%v, way %d: of %d tokens %d were restored, and contexts of %v",
						layout, i, at, stats.CachedTokens, d.restored)
				}
			}
		}
	}
}

// TestDrafterThatIsReadAnotherWayKeepsCheckpoints changes the caches of a drafter's contexts after the
// first request. Later requests leave checkpoints all the same, without contexts.
func TestDrafterThatIsReadAnotherWayKeepsCheckpoints(t *testing.T) {
	script := counting(0, 1000)
	d := &chronicle{text: script}
	f := recalling(t, cache.Ring, Options{Drafters: []draft.Drafter{d}})
	f.ask(t, Request{Prompt: script[:30], MaxTokens: new(30), Speculation: Speculation{Depth: new(3)}})
	d.more = 1
	f.ask(t, Request{Prompt: script[:300], MaxTokens: new(30), Speculation: Speculation{Depth: new(3)}})
	d.restored = nil
	stats, text := f.ask(t, Request{Prompt: script[:330], MaxTokens: new(30),
		Speculation: Speculation{Depth: new(3)}})
	if stats.CachedTokens <= 330-66 || !slices.Equal(text, script[:360]) {
		t.Errorf("%d tokens were restored of 330", stats.CachedTokens)
	}
	if len(d.restored) > 0 {
		t.Errorf("contexts of other caches were restored: %v", d.restored)
	}
}

// TestStoppedAnswerLeavesItsWholeDraftContext stops an answer whose draft has not got the
// last token. The context is kept up to that token.
func TestStoppedAnswerLeavesItsWholeDraftContext(t *testing.T) {
	script := counting(0, 1000)
	for i, how := range []Speculation{{Depth: new(3)}, {Depth: new(3)},
		{Depth: new(7), Rollback: Undo}} {
		d := &chronicle{text: script, silent: i == 0}
		f := recalling(t, cache.Ring, Options{Drafters: []draft.Drafter{d}})
		var why string
		n := 0
		r := Request{Prompt: script[:30], MaxTokens: new(500), Speculation: how,
			Done: func(s Stats) { why = s.NoDrafter }}
		for _, err := range f.Generate(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 100 {
				break
			}
		}
		f.sound(t)
		if strings.Contains(why, "failed") {
			t.Errorf("way %d: %s", i, why)
		}
		stats, _ := f.ask(t, Request{Prompt: script[:400], MaxTokens: new(5), Speculation: how})
		if !slices.Equal(d.restored, []int{stats.CachedTokens}) || stats.CachedTokens < 129 {
			t.Errorf("way %d: %d tokens were restored, and contexts of %v",
				i, stats.CachedTokens, d.restored)
		}
	}
}

// TestContextOfOneDrafterIsKept lets two drafters with contexts take turns with a text. That of the
// first comes back, whole or not at all. The second begins where the target was restored. Both guess
// rightly from there on.
func TestContextOfOneDrafterIsKept(t *testing.T) {
	script := counting(0, 1000)
	first, second := &chronicle{text: script}, &chronicle{name: "annals", text: script}
	f := recalling(t, cache.Ring, Options{Drafters: []draft.Drafter{first, second}})
	for i, x := range []struct {
		drafter  *chronicle
		at       int  // tokens of the prompt
		restored bool // the context
	}{
		{first, 30, false}, {first, 150, true}, {second, 270, false}, {second, 390, false},
		{first, 510, false}, // whose context is missing where the second one drafted
		{first, 140, true},
	} {
		first.restored, second.restored = nil, nil
		stats, text := f.ask(t, Request{Prompt: script[:x.at], MaxTokens: new(120),
			Speculation: Speculation{Drafter: x.drafter.Name(), Depth: new(3)}})
		if !slices.Equal(text, script[:x.at+120]) || stats.NoDrafter != "" ||
			stats.Accepted == 0 || stats.Accepted != stats.Drafted {
			t.Errorf("turn %d: %d of %d drafts were accepted, %q, tokens %v", i, stats.Accepted, stats.Drafted,
				stats.NoDrafter, text)
		}
		if i > 0 && stats.CachedTokens < x.at-66 {
			t.Errorf("turn %d: %d of %d tokens were restored", i, stats.CachedTokens, x.at)
		}
		var want []int
		if x.restored {
			want = []int{stats.CachedTokens}
		}
		if !slices.Equal(x.drafter.restored, want) {
			t.Errorf("turn %d: contexts of %v rows were restored, want %v", i, x.drafter.restored, want)
		}
	}
}

var (
	_ draft.Keeper = (*chronicle)(nil)
	_ draft.Kept   = (*entries)(nil)
)
