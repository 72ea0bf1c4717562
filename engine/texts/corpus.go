package texts

// Limits of a corpus and its lookups.
const (
	// MaxTokens is the most tokens kept of one client, the newest ones.
	MaxTokens = 1 << 20

	// smallest is the ring of a corpus that holds little.
	smallest = 1 << 12

	// maxMatch is the longest suffix that is compared.
	maxMatch = 32

	// maxCompared bounds the occurrences compared in one lookup, the newest ones. They are spread
	// over all of the memory, so each costs two cache misses.
	maxCompared = 32

	// tokenBytes is the memory that a token takes, see corpus.
	tokenBytes = 4 + 12*len(orders)

	// boundary comes before a text. No token has this id, or a smaller one: before a text with n
	// lead tokens comes boundary - n.
	boundary = -1
)

// orders are the lengths of the suffixes that are looked up, the longest first. So a long match is
// found however often its last tokens occurred since.
var orders = [...]int{8, 3}

// A corpus is the newest tokens of some texts, in a ring, with an index of their n-grams. Token p
// of all that were ever added is at p modulo the ring's length, a power of two.
//
// The index of each order is a hash chain as in LZ77. head holds the newest n-gram of each hash,
// prev the one before. An n-gram is named by its end, the position after it, so that 0 means none.
// Hashes collide, so hits are compared with the tokens. Together a token costs 28 bytes.
type corpus struct {
	ring  []int32
	end   int // tokens ever added
	start int // of the text that is being added
	lead  int // tokens of it that come without n-grams
	index [len(orders)]chain
}

// A chain is the index of one order.
type chain struct {
	head []int32 // by hash, twice as long as the ring
	prev []int32 // by end modulo the ring's length
}

func newCorpus(size int) *corpus {
	c := &corpus{ring: make([]int32, size)}
	for i := range c.index {
		c.index[i] = chain{head: make([]int32, 2*size), prev: make([]int32, size)}
	}
	return c
}

// resized returns a corpus of another size with the newest tokens of c, counted from 0.
func (c *corpus) resized(size int) *corpus {
	next := newCorpus(size)
	for p := max(c.oldest(), c.end-size); p < c.end; p++ {
		next.add(c.at(p))
	}
	return next
}

func (c *corpus) at(p int) int32 { return c.ring[p&(len(c.ring)-1)] }

// oldest returns the position of the oldest token that is kept.
func (c *corpus) oldest() int { return max(0, c.end-len(c.ring)) }

// tokens returns how many tokens and boundaries there are.
func (c *corpus) tokens() int { return c.end - c.oldest() }

// bytes returns the memory that the corpus takes.
func (c *corpus) bytes() int64 {
	n := len(c.ring)
	for _, x := range c.index {
		n += len(x.head) + len(x.prev)
	}
	return 4 * int64(n)
}

// begin adds the boundary before a text. Its first lead tokens only complete the n-grams of the
// tokens after them: they are indexed where they were said first.
func (c *corpus) begin(lead int) { c.add(boundary - int32(lead)) }

// add adds a token, or a boundary.
func (c *corpus) add(token int32) {
	c.ring[c.end&(len(c.ring)-1)] = token
	c.end++
	if token <= boundary {
		c.start, c.lead = c.end, int(boundary-token)
		return
	}
	if c.lead > 0 {
		c.lead--
		return
	}
	mask := len(c.ring) - 1
	for i, n := range orders {
		if c.end-c.start < n {
			continue
		}
		x := &c.index[i]
		h := c.hash(c.end, n)
		x.prev[c.end&mask] = x.head[h]
		x.head[h] = int32(c.end)
	}
}

// hash returns the place in head of the n-gram that ends at a position.
func (c *corpus) hash(end, n int) uint64 {
	var h uint64
	for p := end - n; p < end; p++ {
		h = mix(h, c.at(p))
	}
	return h & uint64(2*len(c.ring)-1)
}

// mix adds a token to a hash of those before it.
func mix(h uint64, token int32) uint64 {
	h = (h ^ uint64(uint32(token))) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// A search is one lookup, with the memory that it reuses.
type search struct {
	ends  [maxCompared]int // occurrences, the newest first
	n     int              // of them
	match int              // length of the longest
}

// find looks for the longest suffix of context that occurs in the corpus, and where it occurs.
func (c *corpus) find(s *search, context []int32) {
	s.n, s.match = 0, 0
	for i, n := range orders {
		if len(context) < n {
			continue
		}
		var h uint64
		for _, t := range context[len(context)-n:] {
			h = mix(h, t)
		}
		x := &c.index[i]
		e := int(x.head[h&uint64(len(x.head)-1)])
		for range maxCompared {
			if e == 0 || e-n < c.oldest() {
				break
			}
			if m := c.agree(e, context); m >= max(n, s.match) && c.next(e) != boundary {
				if m > s.match {
					s.n, s.match = 0, m
				}
				s.ends[s.n] = e
				s.n++
			}
			e = int(x.prev[e&(len(c.ring)-1)])
		}
		if s.n > 0 {
			return
		}
	}
}

// agree counts the tokens, at most maxMatch, in which the text before a position and context agree.
func (c *corpus) agree(end int, context []int32) int {
	limit := min(end-c.oldest(), len(context), maxMatch)
	n := 0
	for n < limit && c.at(end-1-n) == context[len(context)-1-n] {
		n++
	}
	return n
}

// follow appends to list how the occurrences that find found continue, at most n tokens: each time
// the token that most occurrences have which agree with the list so far. Between equal counts the
// newest wins. share is the part of the occurrences that have the first one.
func (c *corpus) follow(s *search, list []int32, n int) (_ []int32, share float64) {
	ends, all := s.ends[:s.n], float64(s.n)
	for i := range n {
		var best int32 = boundary
		votes := 0
		for j, e := range ends {
			t := c.next(e + i)
			if t == boundary || t == best || len(ends)-j <= votes {
				continue
			}
			count := 0
			for _, other := range ends[j:] {
				if c.next(other+i) == t {
					count++
				}
			}
			if count > votes {
				best, votes = t, count
			}
		}
		if votes == 0 {
			break
		}
		if i == 0 {
			share = float64(votes) / all
		}
		list = append(list, best)
		kept := ends[:0]
		for _, e := range ends {
			if c.next(e+i) == best {
				kept = append(kept, e)
			}
		}
		ends = kept
	}
	return list, share
}

// next returns the token at a position, or boundary at the end.
func (c *corpus) next(p int) int32 {
	if p >= c.end {
		return boundary
	}
	return max(boundary, c.at(p))
}
