package menu

import "slices"

// assignSlots returns the slot of each id, an index of before, or -1 if none is left. before has
// the id in each slot, or "". An id keeps its slot, because the user may be about to click there.
// New ids take the free slots in their order. Slots that have just become free come last.
func assignSlots(before, ids []string) []int {
	got, taken := make([]int, len(ids)), make([]bool, len(before))
	for i, id := range ids {
		if got[i] = slices.Index(before, id); got[i] >= 0 {
			taken[got[i]] = true
		}
	}
	var free, freed []int
	for slot, id := range before {
		switch {
		case id == "":
			free = append(free, slot)
		case !taken[slot]:
			freed = append(freed, slot)
		}
	}
	free = append(free, freed...)
	for i := range got {
		if got[i] < 0 && len(free) > 0 {
			got[i], free = free[0], free[1:]
		}
	}
	return got
}
