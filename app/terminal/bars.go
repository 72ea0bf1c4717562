package terminal

import (
	"slices"
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
