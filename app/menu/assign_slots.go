package menu

import "slices"

// seats returns the seat of each id among as many as before has, or -1 where none is left. before has
// the ids of the seats, empty for a free one. An id keeps its seat, because a person may be about to
// click there. New ids take the free seats in their order. Seats that have just become free come last.
func seats(before, ids []string) []int {
	got, taken := make([]int, len(ids)), make([]bool, len(before))
	for i, id := range ids {
		if got[i] = slices.Index(before, id); got[i] >= 0 {
			taken[got[i]] = true
		}
	}
	var free, freed []int
	for seat, id := range before {
		switch {
		case id == "":
			free = append(free, seat)
		case !taken[seat]:
			freed = append(freed, seat)
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
