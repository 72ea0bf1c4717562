package checkpoint

import "slices"

// These say when checkpoints are taken. The checkpoints of answers follow ollama's pull request
// 15914: close to one another where a follow-up most often diverges from the answer, and few in
// long answers.
const (
	PromptEvery = 8192 // prompt tokens
	MinGap      = 16   // tokens between two boundaries of a prompt
	Final       = 64   // the shortest answer whose end is kept, in tokens
)

// Offsets returns the offsets, ascending, at which to capture a prompt of length tokens whose first
// from tokens are restored. They are
//   - the boundaries of the prompt, such as the ends of messages
//   - every multiple of PromptEvery
//   - the position before its last token, where the same prompt can continue
//
// Offsets closer than MinGap to the one before are left out, except the last position.
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

// Next returns how many tokens an answer has at its next checkpoint, if it has generated tokens
// now.
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
