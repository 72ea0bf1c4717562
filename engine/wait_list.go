package engine

import (
	"maps"
	"slices"
)

// A waitList holds what waits for one kind of work, in the order of arrival. Clients take turns in
// it.
type waitList[T queued] struct {
	list     []T
	admitted int            // left the list so far
	last     map[string]int // admitted, when the client's last one left
}

// A queued request to generate or encode belongs to a client. One that is resumed was admitted before: it goes ahead
// of all others, so that an answer under way does not stop for them.
type queued interface {
	client() string
	resumed() bool
}

// order returns the indices of the list, the next one first. The client with the fewest in flight
// is next. Among equal clients it is the one whose last turn is the longest ago, and among the
// requests of one client the first that came.
//
// Both keys are needed. The first lets a client that asks for one thing at a time pass one that
// asks for many. The second does so where only one fits at a time, because no client has any in
// flight when the next is chosen.
func (l *waitList[T]) order(inFlight map[string]int) []int {
	order := make([]int, len(l.list))
	keys := make([][2]int, len(l.list)) // looked up once: a long list is ordered in every round
	for i, t := range l.list {
		order[i], keys[i] = i, [2]int{inFlight[t.client()], l.last[t.client()]}
	}
	rest := order
	for len(rest) > 0 && l.list[rest[0]].resumed() {
		rest = rest[1:]
	}
	slices.SortStableFunc(rest, func(i, j int) int { return slices.Compare(keys[i][:], keys[j][:]) })
	return order
}

// count returns how many of a client wait.
func (l *waitList[T]) count(client string) (n int) {
	for _, t := range l.list {
		if t.client() == client {
			n++
		}
	}
	return n
}

// remove takes the one at an index out of the list and counts it as its client's turn.
func (l *waitList[T]) remove(i int) T {
	t := l.list[i]
	l.list = slices.Delete(l.list, i, i+1)
	l.admitted++
	if l.last == nil {
		l.last = map[string]int{}
	}
	l.last[t.client()] = l.admitted
	if len(l.last) > 2*MaxQueue { // a turn so long ago counts as none
		maps.DeleteFunc(l.last, func(_ string, at int) bool { return l.admitted-at >= MaxQueue })
	}
	return t
}

// take removes those that is reports true for, and returns them.
func (l *waitList[T]) take(is func(T) bool) (taken []T) {
	l.list = slices.DeleteFunc(l.list, func(t T) bool {
		if is(t) {
			taken = append(taken, t)
			return true
		}
		return false
	})
	return taken
}

func (t *task) client() string { return t.req.Client }
func (t *task) resumed() bool  { return len(t.req.Generated) > 0 }

func (t *encodeTask) client() string { return t.Client }
func (t *encodeTask) resumed() bool  { return false }
