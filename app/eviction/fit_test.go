package eviction

import (
	"math"
	"testing"
)

// The system keeps a quarter of the memory, and 2 GiB at least.
func TestModelsMayTakeWhatTheSystemLeaves(t *testing.T) {
	for _, c := range []struct{ memory, want int64 }{
		{0, math.MaxInt64}, // the memory is not known
		{1 * gib, 0},
		{8 * gib, 6 * gib},
		{16 * gib, 12 * gib},
		{64 * gib, 48 * gib},
	} {
		if got := RoomFor(c.memory); got != c.want {
			t.Errorf("models may take %d bytes of %d GiB, want %d", got, c.memory/gib, c.want)
		}
	}
	l := Limits{Memory: 16 * gib, Checkpoints: 2 * gib, Texts: 1 * gib}
	if got := l.Room(); got != 9*gib {
		t.Errorf("beside checkpoints and texts models may take %d GiB, want 9", got/gib)
	}
}

// A context that a person set fits or is refused. Otherwise a model gets the longest context that
// fits, down to the shortest.
func TestContextIsAsAskedOrTheLongestThatFits(t *testing.T) {
	const weights, row = 1 << 20, 1 << 10
	whole := Size{Context: 4096, Bytes: linear{weights, row}.Bytes}
	much := Size{Context: 100_000, Bytes: whole.Bytes}
	asked := func(z Size, tokens int) Size { z.Asked = tokens; return z }
	for _, c := range []struct {
		name    string
		size    Size
		room    int64
		context int
		ok      bool
	}{
		{"all of it", whole, weights + 4096*row, 4096, true},
		{"not known how much there is", whole, math.MaxInt64, 4096, true},
		// 4096 is the shortest context
		{"a byte too little", whole, weights + 4096*row - 1, 4096, false},
		{"cut, with room for a short text beside it", much, weights + (10_000+ShortRequest)*row, 9 * 1024, true},
		{"cut to the shortest", much, weights + 4096*row, 4096, true},
		{"not even the shortest", much, weights + 4095*row, 4096, false},
		{"not the weights", much, weights - 1, 4096, false},
		{"as asked", asked(much, 10_000), weights + 10_000*row, 10_000, true},
		{"asked for too much", asked(much, 10_001), weights + 10_000*row, 10_001, false},
		{"asked for a short one", asked(much, 100), weights + 100*row, 100, true},
		{"asked for more than the model has", asked(whole, 8192), weights + 4096*row, 4096, true},
		{"asked, of a model that does not say", asked(Size{Bytes: whole.Bytes}, 8192), weights + 8192*row, 8192, true},
	} {
		n, ok := c.size.Fit(c.room)
		if n.Context != c.context || ok != c.ok {
			t.Errorf("%s: a context of %d, %t; want %d, %t", c.name, n.Context, ok, c.context, c.ok)
		}
		if n.Weights != weights || n.Cache != int64(c.context)*row {
			t.Errorf("%s: it needs %d and %d bytes", c.name, n.Weights, n.Cache)
		}
	}
}

// A long context that is cut leaves memory for a small model. A context that was asked for, or that
// fits whole, may take all memory.
func TestCutContextLeavesMemoryForASmallModel(t *testing.T) {
	z := Size{Context: 200_000, Bytes: linear{1 << 20, 1 << 10}.Bytes}
	bytes := func(context int) int64 { return z.need(context).Bytes() }
	room := bytes(100_000)
	left := func(context int) int64 { return room - bytes(context) - z.need(ShortRequest).Cache }
	if n, ok := z.Fit(room); !ok || n.Context <= agentContext ||
		left(n.Context) < room/neighbourPart || left(n.Context+contextStep) >= room/neighbourPart {
		t.Errorf("cut to %d, which leaves %d of %d, %t", n.Context, left(n.Context), room, ok)
	}
	room = bytes(agentContext+2*contextStep) + z.need(ShortRequest).Cache
	if n, ok := z.Fit(room); !ok || n.Context != agentContext {
		t.Errorf("cut to %d, not %d, %t", n.Context, agentContext, ok)
	}
	if n, ok := z.Fit(bytes(200_000)); !ok || n.Context != 200_000 {
		t.Errorf("a whole context is cut to %d, %t", n.Context, ok)
	}
	z.Asked = 199_000
	if n, ok := z.Fit(bytes(199_000)); !ok || n.Context != 199_000 {
		t.Errorf("a context that was asked for is cut to %d, %t", n.Context, ok)
	}
}

// A longer context is offered up to the model's own, as far as it fits. The least
// that a model takes has a short context, unless a person asked for another.
func TestLongestContextAndLeastMemory(t *testing.T) {
	const weights, row = 1 << 20, 1 << 10
	z := Size{Context: 100_000, Bytes: linear{weights, row}.Bytes}
	for _, c := range []struct {
		room int64
		want int
	}{{math.MaxInt64, 100_000}, {weights + 10_001*row - 1, 10_000}, {weights + 10_000*row, 10_000}, {weights, 0}, {0, 0}} {
		if got := z.Longest(c.room); got != c.want {
			t.Errorf("in %d bytes the longest context is %d, want %d", c.room, got, c.want)
		}
	}
	if got := z.Least(); got != weights+4096*row {
		t.Errorf("at least %d bytes, want a context of 4096", got)
	}
	if z.Asked = 10_000; z.Least() != weights+10_000*row {
		t.Errorf("at least %d bytes, want the context that was asked for", z.Least())
	}
	if z.Asked, z.Context = 0, 100; z.Least() != weights+100*row {
		t.Errorf("at least %d bytes, want the whole context", z.Least())
	}
	if n := (Size{}).Longest(weights); n != 0 {
		t.Errorf("a model of no known size has a context of %d", n)
	}
}
