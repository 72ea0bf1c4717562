package gguf

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// maxMergeText bounds the bytes that are compared and written for merges: each byte of a token may
// be where it joins, and each merge has the whole token. Gemma's 262,144 tokens take a quarter.
const maxMergeText = 1 << 27

// merges returns the merges that follow from scores: pairs of tokens that join to a token, the
// highest score first. This is how transformers converts SentencePiece's byte pair encoding.
func merges(vocab map[string]int, scores []float64, joins func(id int) bool) [][2]string {
	type merge struct {
		left, right string
		score       float64
		leftID      int
		rightID     int
		lengths     [2]int // in characters
	}
	var list []merge
	for token, id := range vocab {
		if !joins(id) {
			continue
		}
		n := utf8.RuneCountInString(token)
		characters := 0
		for at := range token {
			if at > 0 {
				left, okLeft := vocab[token[:at]]
				right, okRight := vocab[token[at:]]
				if okLeft && okRight {
					list = append(list, merge{token[:at], token[at:], scores[id], left, right,
						[2]int{characters, n - characters}})
				}
			}
			characters++
		}
	}
	slices.SortFunc(list, func(a, b merge) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.lengths[0], a.lengths[0]),
			cmp.Compare(b.lengths[1], a.lengths[1]), cmp.Compare(a.leftID, b.leftID),
			cmp.Compare(a.rightID, b.rightID))
	})
	pairs := make([][2]string, len(list))
	for i, m := range list {
		pairs[i] = [2]string{m.left, m.right}
	}
	return pairs
}
