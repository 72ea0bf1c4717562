package draft

// maxFeature is the longest match that features tell apart, in tokens.
const maxFeature = 32

// A Featured draft says, before the round and at no cost, what its next proposal rests on.
type Featured interface {
	Peeker

	// Features describes what Propose would return for history. The zero value means no proposal.
	Features(history []int32) Features
}

// A Previewer is a draft whose proposals are known before the round, at no cost.
type Previewer interface {
	Draft

	// Preview returns the at most n tokens that Propose would return for history. The caller must not
	// change them.
	Preview(history []int32, n int) []int32
}

// Features are signs of how likely a proposal is accepted, known before its round.
type Features struct {
	Match int     // tokens before the proposal that occurred so before, at most maxFeature
	Count int     // occurrences compared, as long as the one proposed
	Share float64 // the part of them that continue with the first token of the proposal
}

// agree counts the tokens, at most limit, in which the ends of a and b agree.
func agree(a, b []int32, limit int) int {
	n := 0
	for n < min(len(a), len(b), limit) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
