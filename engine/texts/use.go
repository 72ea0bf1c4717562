package texts

import "time"

// A Use is one request's reference to its client's memory. Its lookups belong to one goroutine at a
// time. A nil Use finds and adds nothing.
type Use struct {
	store   *Store
	memory  *memory
	from    Origin
	arrived time.Time
	search  search
}

// A Match is what a lookup found.
type Match struct {
	Length int     // of the suffix that occurs in the memory
	Count  int     // occurrences compared
	Share  float64 // part of the occurrences that go on with the first token, 0 to 1
}

// Find looks for the longest suffix of context, if it is longer than over. It appends to list how
// that goes on, n tokens at most.
func (u *Use) Find(context, list []int32, n, over int) ([]int32, Match) {
	u.memory.mu.RLock()
	defer u.memory.mu.RUnlock()
	if u.memory.corpus == nil {
		return list, Match{}
	}
	u.memory.corpus.find(&u.search, context)
	if u.search.match <= over {
		return list, Match{}
	}
	m := Match{Length: u.search.match, Count: u.search.n}
	list, m.Share = u.memory.corpus.follow(&u.search, list, n)
	return list, m
}

// Add adds what is new of a request's text. It does not wait. The tokens are not copied, and the
// caller must not change them. After a Forget since the request arrived it adds nothing.
func (u *Use) Add(t Text) {
	if u == nil || len(t.Tokens) == 0 {
		return
	}
	s := u.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !u.arrived.After(s.forgot):
	case s.texts >= maxQueued:
		s.o.Logger.Warn("a text is not remembered for drafting: the disk is too slow")
	default:
		s.texts++
		s.enqueue(func() { s.add(u.memory, t, u.from) })
	}
}

// Close ends the use.
func (u *Use) Close() {
	if u == nil {
		return
	}
	s, m := u.store, u.memory
	s.mu.Lock()
	defer s.mu.Unlock()
	m.users--
	used := time.Now()
	if m.used = used; m.users > 0 || s.o.Idle <= 0 {
		return
	}
	time.AfterFunc(s.o.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m.users == 0 && m.used.Equal(used) && s.open[m.owner] == m {
			delete(s.open, m.owner)
		}
	})
}

// Bytes returns the memory that the texts take in the process.
func (u *Use) Bytes() int64 {
	u.memory.mu.RLock()
	defer u.memory.mu.RUnlock()
	if u.memory.corpus == nil {
		return 0
	}
	return u.memory.corpus.bytes()
}
