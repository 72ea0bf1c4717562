package engine

import (
	"testing"
	"time"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

// TestWaitingRequestStartsWhenSetRoomGivesRoom lets a request wait that does not fit. It starts
// when the other request has ended, or as soon as SetRoom gives more room. A request in flight
// stays.
func TestWaitingRequestStartsWhenSetRoomGivesRoom(t *testing.T) {
	for _, grows := range []bool{false, true} {
		f, started, release := crowded(t, 100)
		first := begin(f, t.Context(), Request{Prompt: make([]int32, 8), MaxTokens: new(8)}, 0)
		<-started
		if n := f.Reserved(); n != 16 {
			t.Errorf("%d bytes are reserved for 16 positions", n)
		}
		f.SetRoom(20)
		second := begin(f, t.Context(), Request{Prompt: make([]int32, 3), MaxTokens: new(5)}, 1)
		if grows {
			f.SetRoom(24)
		}
		release()
		ends(t, first, second)
		if at := f.forward(3); at < 8 != grows {
			t.Errorf("grows %t: the second prompt was read in forward %d: %v",
				grows, at, f.chain.Forwards)
		}
		enginetest.Await(t, "nothing is reserved", func() bool { return f.Reserved() == 0 })
	}
}

// TestRequestOfAnotherModelRunsBetweenLayers sends a request to another model while a chunk of a long
// prompt is read. It runs between the layers of the chunks, and ends long before the prompt is read.
func TestRequestOfAnotherModelRunsBetweenLayers(t *testing.T) {
	for _, reads := range []bool{false, true} {
		var n ThreadShare
		a, halts := halting(t, Options{ThreadShare: &n}, 0)
		a.withPauses()
		b := newFixtureOn(t, a.thread, enginetest.Cycle(30), Options{ThreadShare: &n})
		long := begin(a, t.Context(), Request{Prompt: make([]int32, enginetest.ChainContext-1)}, 0)
		<-halts[0].there
		lent := a.thread.Lent()
		var other []<-chan error
		for range 10 {
			if reads {
				other = append(other, beginEncode(b, "b", 9, 0))
			} else {
				other = append(other, begin(b, t.Context(), Request{Prompt: make([]int32, 9), MaxTokens: new(9)}, 0))
			}
		}
		halts[0].free()
		ends(t, other...)
		select {
		case <-long:
			t.Errorf("reads %t: the long prompt was read first", reads)
		default:
		}
		if a.thread.Lent() == lent {
			t.Errorf("reads %t: the other model had no turn inside a chunk", reads)
		}
		ends(t, long)
	}
}

// While a chunk of one engine is under way, a job of another engine waits for a job of the first. Both
// jobs end.
func TestForgetOfBothEnginesEndsDuringAChunk(t *testing.T) {
	var n ThreadShare
	a, halts := halting(t, Options{ThreadShare: &n}, 3)
	a.withPauses()
	b := newFixtureOn(t, a.thread, enginetest.Cycle(30), Options{ThreadShare: &n})
	long := begin(a, t.Context(), Request{Prompt: make([]int32, 16<<10), MaxTokens: new(1)}, 0)
	<-halts[0].there
	begun, forgotten := make(chan struct{}), make(chan error, 1)
	go func() {
		forgotten <- b.Forget(func() error {
			close(begun)
			return a.Forget(func() error { return nil })
		})
	}()
	<-begun
	halts[0].free()
	select {
	case err := <-forgotten:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the engines wait for each other")
	}
	ends(t, long)
}

// TestRoundsBesideAnotherEngineTeachNothing runs rounds beside another busy engine. These rounds
// are not measured, and no later round drafts deeper because of them.
func TestRoundsBesideAnotherEngineTeachNothing(t *testing.T) {
	for _, busy := range []bool{false, true} {
		var l ledger
		var n ThreadShare
		f := newFixture(t, enginetest.Cycle(40),
			Options{Drafters: []draft.Drafter{draft.Ngram{}}, Policies: &l, ThreadShare: &n})
		seen := false
		f.chain.OnForward = func(int) { seen = seen || n.others() }
		if busy {
			n.begin()
		}
		tokens, _, stats := f.run(t, Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(200)})
		f.Close()
		if len(tokens) != 200 || seen != busy || l.saved > 0 == busy || busy && stats.Drafted > 0 {
			t.Errorf("busy %t: %d tokens, another engine was seen %t, %d policies stored, %d drafted",
				busy, len(tokens), seen, l.saved, stats.Drafted)
		}
		if got := n.working.Load(); got > 0 != busy {
			t.Errorf("busy %t: %d engines have work at the end", busy, got)
		}
	}
}

// learned is a store with the cost of drafts from an earlier launch, without the cost of plain
// rounds now.
type learned struct{ ledger }

func (*learned) LoadPolicy(draft.Key) (*draft.State, error) {
	var s draft.State
	for d := range MaxDepth {
		s.Costs = append(s.Costs, draft.Cost{Depth: d + 1, Seconds: 1, Samples: 8})
	}
	return &s, nil
}

// TestStoredPolicyWaitsForACostOfPlainRounds runs beside another engine, where no round is
// measured. The policy of an earlier launch drafts only after plain rounds have been measured.
func TestStoredPolicyWaitsForACostOfPlainRounds(t *testing.T) {
	var n ThreadShare
	n.begin()
	f := newFixture(t, enginetest.Cycle(40), Options{Drafters: []draft.Drafter{draft.Ngram{}},
		Policies: &learned{}, ThreadShare: &n})
	if _, _, stats := f.run(t, Request{Prompt: []int32{1, 2, 3},
		MaxTokens: new(200)}); stats.Drafted > 0 {
		t.Errorf("%d tokens were drafted in rounds of a second each", stats.Drafted)
	}
}

// TestSmallerBudgetDropsCheckpoints expects that a smaller budget drops the checkpoints beyond it
// at once. Later requests leave no more than it allows.
func TestSmallerBudgetDropsCheckpoints(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(40), Options{Checkpoints: 1 << 30})
	_, _, before := f.run(t, Request{Prompt: make([]int32, 300), MaxTokens: new(4)})
	if before.CheckpointBytes == 0 {
		t.Fatal("no checkpoint is kept")
	}
	const less = 100
	f.SetCheckpoints(less)
	_, _, again := f.run(t, Request{Prompt: make([]int32, 300), MaxTokens: new(4)})
	if again.CachedTokens != 0 || again.CheckpointBytes > less {
		t.Errorf("with %d bytes %d tokens were restored, and %d bytes are kept",
			less, again.CachedTokens, again.CheckpointBytes)
	}
	f.SetCheckpoints(1 << 30)
	f.run(t, Request{Prompt: make([]int32, 300), MaxTokens: new(4)})
	if _, _, more := f.run(t, Request{Prompt: make([]int32, 300),
		MaxTokens: new(4)}); more.CachedTokens != 299 {
		t.Errorf("with the whole again %d tokens were restored", more.CachedTokens)
	}
}
