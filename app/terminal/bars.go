package terminal

import (
	"slices"
	"strconv"
	"strings"
)

// Bars draws the mean of each group of values as one character.
func Bars(values []int, each, most int) string {
	const levels = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for part := range slices.Chunk(values, each) {
		sum := 0
		for _, v := range part {
			sum += v
		}
		if sum == 0 {
			b.WriteRune('·')
			continue
		}
		// It is rounded up: a small mean is not drawn as none.
		level := (8*sum + most*len(part) - 1) / (most * len(part))
		b.WriteRune([]rune(levels)[min(max(level, 1), 8)-1])
	}
	return b.String()
}

// Marks returns for each group of indices the most frequent one, counted from 1, as one character. Those
// below 0 do not count; · marks a group of them alone.
func Marks(values []int, each int) string {
	var b strings.Builder
	for part := range slices.Chunk(values, each) {
		counts := map[int]int{}
		best := -1
		for _, v := range part {
			if v < 0 {
				continue
			}
			if counts[v]++; best < 0 || counts[v] > counts[best] {
				best = v
			}
		}
		if best < 0 {
			b.WriteRune('·')
		} else {
			b.WriteString(strconv.FormatInt(int64(best+1), 36))
		}
	}
	return b.String()
}
