package engine

import (
	"cmp"
	"time"
)

const (
	// maxLead is how many chunks a client may be ahead of another that wants chunks too.
	// Within it the shortest rest comes first: short prompts do not wait for long ones,
	// and prompts that are alike are read one after the other instead of all of them late.
	maxLead = 8

	// oldestEvery is how often the prompt that came first has the chunk. Short prompts
	// that keep coming, of its own client say, cannot hold it up for ever.
	oldestEvery = 4
)

// A pending is a prompt or an encode request that wants its next chunk.
type pending struct {
	client  string
	rest    int // tokens to be read
	arrived time.Time
}

// waiting lists what tasks still have to read.
func waiting[T interface{ pending() pending }](tasks []T) (list []pending) {
	for _, t := range tasks {
		list = append(list, t.pending())
	}
	return list
}

func (t *task) pending() pending       { return pending{t.client(), t.remaining(), t.arrived} }
func (t *encodeTask) pending() pending { return pending{t.client(), t.remaining(), t.arrived} }

// fairShares choose whose chunk is read next. They count the chunks of each client that
// wants some. A new client starts level with the lowest and gets no credit for idle time.
type fairShares struct {
	had    map[string]int // chunks, by client
	chunks int            // of all
}

// next returns the index of the one whose chunk is next and counts the chunk. The list
// has at least one.
func (f *fairShares) next(list []pending) int {
	f.update(list)
	next := 0
	if f.chunks%oldestEvery == oldestEvery-1 {
		for i, p := range list {
			if p.arrived.Before(list[next].arrived) {
				next = i
			}
		}
	} else {
		next = f.shortest(list)
	}
	f.had[list[next].client]++
	f.chunks++
	return next
}

// update notes which clients want chunks now.
func (f *fairShares) update(list []pending) {
	lowest, known := 0, false
	for _, p := range list {
		if n, ok := f.had[p.client]; ok && (!known || n < lowest) {
			lowest, known = n, true
		}
	}
	had := map[string]int{}
	for _, p := range list {
		had[p.client] = max(f.had[p.client], lowest)
	}
	f.had = had
}

// shortest returns the index of the shortest rest, among clients within maxLead.
func (f *fairShares) shortest(list []pending) int {
	lowest := f.had[list[0].client]
	for _, p := range list {
		lowest = min(lowest, f.had[p.client])
	}
	next := -1
	for i, p := range list {
		if f.had[p.client] < lowest+maxLead && (next < 0 || before(p, list[next])) {
			next = i
		}
	}
	return next
}

// before orders by the rest, equal ones by arrival.
func before(a, b pending) bool {
	return cmp.Or(cmp.Compare(a.rest, b.rest), a.arrived.Compare(b.arrived)) < 0
}
