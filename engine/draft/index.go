package draft

// Limits of a lookup.
const (
	// minMatch is the shortest suffix that is looked up. Two tokens recur by chance in any text
	// ("of the", an indent and a brace) and say little about the third.
	minMatch = 3

	// maxMatch is the length from which two occurrences count as equally good. A longer match adds
	// less than a more recent occurrence does.
	maxMatch = 8

	// enough is how many tokens after an occurrence are as good as more. An occurrence nearer to
	// the end of the history, as in a loop, gives way to an older one.
	enough = 8

	// chainLimit bounds the occurrences compared in one lookup, newest first.
	chainLimit = 32

	// maxIndexed bounds the tokens that an index remembers, the newest ones. A token costs at most
	// 24 bytes of each index.
	maxIndexed = 1 << 18
)

// An index finds earlier occurrences of n-grams in a sequence that only grows. It is a hash chain
// as in LZ77: head holds the newest n-gram of each hash, prev the one before. An n-gram is named by
// its end, the position after it, so that 0 means none. Hashes collide, so hits are compared with
// the tokens.
type index struct {
	n    int     // tokens of an n-gram
	end  int     // n-grams up to this end are in
	head []int32 // by hash; its length is a power of two, twice that of prev
	prev []int32 // by end modulo its length, a power of two
}

// extend adds the n-grams of tokens that end at or before end.
func (ix *index) extend(tokens []int32, end int) {
	if end <= ix.end {
		return
	}
	if size := len(ix.prev); end >= size && size < maxIndexed {
		size = max(size, 256)
		for size <= end && size < maxIndexed {
			size *= 2
		}
		ix.prev = make([]int32, size)
		ix.head = make([]int32, 2*size)
		ix.end = 0 // index everything again, which doubling makes O(1) per token
	}
	first := max(ix.end+1, ix.n, end-len(ix.prev)+1)
	for e := first; e <= end; e++ {
		h := ix.hash(tokens[e-ix.n : e])
		ix.prev[e&(len(ix.prev)-1)] = ix.head[h]
		ix.head[h] = int32(e)
	}
	ix.end = end
}

func (ix *index) hash(gram []int32) uint64 {
	var h uint64
	for _, t := range gram {
		h = (h ^ uint64(uint32(t))) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h & uint64(len(ix.head)-1)
}

// A match is an earlier occurrence of a suffix.
type match struct {
	end    int // the position after it: what followed starts here
	length int // tokens equal, maxMatch at most
}

// matches appends to list the occurrences in tokens of the last n tokens of
// context, newest first, each with the length it extends to.
func (ix *index) matches(list []match, tokens, context []int32) []match {
	if len(context) < ix.n || len(ix.head) == 0 {
		return list
	}
	e := int(ix.head[ix.hash(context[len(context)-ix.n:])])
	for range chainLimit {
		if e == 0 || e <= ix.end-len(ix.prev) {
			break
		}
		if n := common(tokens[:e], context); n >= ix.n {
			list = append(list, match{e, n})
		}
		next := int(ix.prev[e&(len(ix.prev)-1)])
		if next >= e { // overwritten by a newer n-gram
			break
		}
		e = next
	}
	return list
}

// common counts the tokens, at most maxMatch, in which the ends of a and b agree.
func common(a, b []int32) int { return agree(a, b, maxMatch) }

// A lookup finds the longest earlier occurrences of a suffix. The index of long n-grams comes
// first, so a long match is found however often its last few tokens occurred since.
type lookup struct {
	long, short index
	found       []match // reused
}

func newLookup() *lookup {
	return &lookup{long: index{n: maxMatch}, short: index{n: minMatch}}
}

func (l *lookup) extend(tokens []int32, end int) {
	l.long.extend(tokens, end)
	l.short.extend(tokens, end)
}

// matches lists occurrences in tokens of the end of context, newest first. The list is good until
// the next call.
func (l *lookup) matches(tokens, context []int32) []match {
	l.found = l.long.matches(l.found[:0], tokens, context)
	if len(l.found) == 0 {
		l.found = l.short.matches(l.found, tokens, context)
	}
	return l.found
}
