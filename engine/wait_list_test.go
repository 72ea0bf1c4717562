package engine

import (
	"fmt"
	"slices"
	"testing"
)

// A waiter is an entry of a waitList, known by its client and a number.
type waiter struct {
	name  string
	n     int
	again bool
}

func (w waiter) client() string { return w.name }
func (w waiter) resumed() bool  { return w.again }

// empty admits all waiters and returns them in order. Each stays in flight until as many others as
// there are places came after it.
func empty(l *waitList[waiter], inFlight map[string]int, places int) (order []waiter) {
	var held []string
	for len(l.list) > 0 {
		if len(held) == places {
			inFlight[held[0]]--
			held = held[1:]
		}
		w := l.remove(l.order(inFlight)[0])
		inFlight[w.name]++
		held = append(held, w.name)
		order = append(order, w)
	}
	return order
}

func waitersOf(clients string) (l waitList[waiter]) {
	for i, c := range clients {
		l.list = append(l.list, waiter{name: string(c), n: i})
	}
	return l
}

// TestClientWithFewestInFlightIsNext expects that clients take turns, even where only one request
// fits at a time. A client's own requests come in the order of arrival.
func TestClientWithFewestInFlightIsNext(t *testing.T) {
	for _, c := range []struct {
		waiting  string
		inFlight map[string]int
		places   int
		want     string
	}{
		{"aaaaaabc", nil, 8, "abcaaaaa"},
		{"aaaaaabc", nil, 1, "abcaaaaa"},
		{"aaaaaabc", map[string]int{"a": 1}, 8, "bcaaaaaa"},
		{"aaabbbccc", nil, 3, "abcabcabc"},
		{"aaabbbccc", nil, 1, "abcabcabc"},
		{"aaabbb", map[string]int{"b": 1}, 8, "ababab"},
		{"abc", map[string]int{"a": 1, "b": 2, "c": 1}, 8, "acb"},
		{"aaa", nil, 1, "aaa"},
	} {
		l, inFlight := waitersOf(c.waiting), map[string]int{}
		for client, n := range c.inFlight {
			inFlight[client] = n
		}
		got, last := "", map[string]int{}
		for _, w := range empty(&l, inFlight, c.places) {
			got += w.name
			if before, ok := last[w.name]; ok && before > w.n {
				t.Errorf("%s: %d of %s comes before %d", c.waiting, before, w.name, w.n)
			}
			last[w.name] = w.n
		}
		if got != c.want {
			t.Errorf("%s in %d places comes in the order %s, want %s",
				c.waiting, c.places, got, c.want)
		}
	}
}

// TestResumedAnswerDoesNotWaitForTheQueue expects that an answer that goes on after a cut comes
// ahead of all waiters, however many requests its client has in flight.
func TestResumedAnswerDoesNotWaitForTheQueue(t *testing.T) {
	l := waitersOf("xbb")
	l.list[0].again = true
	if got := l.order(map[string]int{"x": 9}); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the order is %v", got)
	}
}

// TestQueueRemembersFewClients expects that the memory of past turns is bounded, however many
// clients come.
func TestQueueRemembersFewClients(t *testing.T) {
	var l waitList[waiter]
	for n := range 10_000 {
		l.list = append(l.list, waiter{name: fmt.Sprint(n)})
		l.remove(0)
		if len(l.last) > 2*MaxQueue {
			t.Fatalf("%d clients are remembered", len(l.last))
		}
	}
}
