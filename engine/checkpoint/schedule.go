package checkpoint

import "slices"

// When checkpoints are taken. Those of answers follow ollama's pull request
// 15914: close to one another where a follow-up most often parts from what was
// generated, and few in long texts.
const (
	PromptEvery = 8192 // prompt tokens
	MinGap      = 16   // tokens between two boundaries of a prompt
	Final       = 64   // tokens an answer has at least for its end to be kept
)

// Offsets returns the offsets, ascending, at which a prompt of length tokens is
// captured when its first from tokens are there already: at its boundaries, which
// are the ends of messages say, every PromptEvery tokens, and before its last token,
// from where the same prompt goes on.
func Offsets(from, length int, boundaries []int) []int {
	candidates := slices.Clone(boundaries)
	for at := PromptEvery; at < length; at += PromptEvery {
		candidates = append(candidates, at)
	}
	slices.Sort(candidates)
	var offsets []int
	last := 0
	for _, at := range candidates {
		if at-last < MinGap || at >= length {
			continue
		}
		if last = at; at > from {
			offsets = append(offsets, at)
		}
	}
	if end := length - 1; end > max(from, last) {
		offsets = append(offsets, end)
	}
	return offsets
}

// Next returns how many tokens an answer has at its next checkpoint when it has
// generated so many.
func Next(generated int) int {
	step := 1024
	switch {
	case generated < 512:
		step = 64
	case generated < 2048:
		step = 256
	}
	return (generated/step + 1) * step
}
