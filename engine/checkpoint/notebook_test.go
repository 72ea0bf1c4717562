package checkpoint

import (
	"cmp"
	"slices"
	"sync"
)

// A notebook is an index in memory that also records its calls.
type notebook struct {
	mu      sync.Mutex
	entries map[string]Entry

	added, lost []string // ids, in order
	used        [][]string

	// unwanted, if set, reports whether the text of an entry was forgotten.
	unwanted func(Entry) bool

	// replaced, if set, is asked which files an entry replaces.
	replaced func(Entry) []string

	// order, if set, orders the entries that ByWorth returns; otherwise they are ordered by id.
	order func([]Entry) []Entry
}

func (x *notebook) all() (list []Entry) {
	for _, e := range x.entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Known implements Index.
func (x *notebook) Known() ([]Entry, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all(), nil
}

// Add implements Index.
func (x *notebook) Add(e Entry) (replaced []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unwanted != nil && x.unwanted(e) {
		return nil, ErrForgotten
	}
	if x.replaced != nil {
		replaced = x.replaced(e)
	}
	for _, id := range replaced {
		delete(x.entries, id)
	}
	if x.entries == nil {
		x.entries = map[string]Entry{}
	}
	x.entries[e.ID] = e
	x.added = append(x.added, e.ID)
	return replaced, nil
}

// Use implements Index.
func (x *notebook) Use(u Use) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.used = append(x.used, u.IDs)
	return nil
}

// Discard implements Index.
func (x *notebook) Discard(id, why string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entries[id]
	e.Gone = why
	x.entries[id] = e
	x.lost = append(x.lost, id)
	return nil
}

// ByWorth implements Index.
func (x *notebook) ByWorth() (list, stay []Entry, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	list = slices.DeleteFunc(x.all(), func(e Entry) bool { return e.Gone != "" })
	if x.order != nil {
		list = x.order(list)
	}
	stay = slices.DeleteFunc(x.all(), func(e Entry) bool {
		return e.Gone != "" || slices.ContainsFunc(list,
			func(other Entry) bool { return other.ID == e.ID })
	})
	return list, stay, nil
}
