package engine

import (
	"cmp"
	"maps"
	"slices"
)

// A queue holds what waits for one kind of work, in the order of arrival. Clients take
// turns in it.
type queue[T queueable] struct {
	list     []T
	admitted int            // left the queue so far
	last     map[string]int // admitted, when the client's last one left
}

// A queueable belongs to a client. One that is resumed was admitted before: it goes ahead
// of all others, so that an answer under way does not stop for them.
type queueable interface {
	client() string
	resumed() bool
}

// order returns the indices of the queue, the next one first. The client with the fewest in flight
// is next. Among equal clients it is the one whose last turn is the longest ago, and among the
// requests of one client the first that came.
//
// Both keys are needed. The first lets a client that asks for one thing at a time pass one that
// asks for many. The second does so where only one fits at a time, because no client has any in
// flight when the next is chosen.
func (q *queue[T]) order(inFlight map[string]int) []int {
	order := make([]int, len(q.list))
	for i := range order {
		order[i] = i
	}
	rest := order
	for len(rest) > 0 && q.list[rest[0]].resumed() {
		rest = rest[1:]
	}
	slices.SortStableFunc(rest, func(i, j int) int {
		a, b := q.list[i].client(), q.list[j].client()
		return cmp.Or(cmp.Compare(inFlight[a], inFlight[b]), cmp.Compare(q.last[a], q.last[b]))
	})
	return order
}

// remove takes the one at an index out of the queue and counts it as its client's turn.
func (q *queue[T]) remove(i int) T {
	t := q.list[i]
	q.list = slices.Delete(q.list, i, i+1)
	q.admitted++
	if q.last == nil {
		q.last = map[string]int{}
	}
	q.last[t.client()] = q.admitted
	if len(q.last) > 2*MaxQueue { // a turn so long ago counts as none
		maps.DeleteFunc(q.last, func(_ string, at int) bool { return q.admitted-at >= MaxQueue })
	}
	return t
}

func (t *task) client() string { return t.req.Client }
func (t *task) resumed() bool  { return len(t.req.Generated) > 0 }

func (t *reader) client() string { return t.Client }
func (t *reader) resumed() bool  { return false }
