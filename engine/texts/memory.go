package texts

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// markEvery is how many tokens are between the places at which the beginning of a text is
// recognized.
const markEvery = 64

// leadTokens is how many of the known tokens come with the new ones, so that the first of these are
// found too.
const leadTokens = 8

// maxMarks bounds these places. A full memory of long texts has half as many.
const maxMarks = 2 * MaxTokens / markEvery

// addAtOnce is how many tokens are added while lookups wait. They wait for some microseconds.
const addAtOnce = 64

// recount is the position from which a corpus is counted from 0 again, far below the largest int32.
const recount = 1 << 30

// A memory is one owner's texts. The store's worker alone changes it.
type memory struct {
	owner Owner
	path  string

	users  int       // guarded by the store's lock
	used   time.Time // likewise
	unread bool      // likewise; its file is to be read by the next Open

	mu     sync.RWMutex
	corpus *corpus // nil until the file was read

	// The worker's. marks are the known beginnings of texts: by the hash of a beginning, the
	// position of its last token in the corpus.
	marks map[uint64]int
	kept  int // tokens in the file

	unwritten bool // some texts could not be written
	damaged   bool // its file could not be repaired, and nothing is added to it
}

// A Text is what a request adds: its tokens, the prompt first.
type Text struct {
	Tokens []int32
	Prompt int
}

// seed is the hash of no tokens.
const seed = 0x2545f4914f6cdd1d

// fill replaces the memory's texts by the records of its file. Where not all fit, the newest ones
// stay, each of them whole.
func (m *memory) fill(list []record) {
	first, total := len(list), 0
	for first > 0 && total+len(list[first-1].tokens)+1 <= MaxTokens {
		first--
		total += len(list[first].tokens) + 1
	}
	m.mu.Lock()
	m.corpus, m.marks = newCorpus(ringFor(total)), map[uint64]int{}
	m.mu.Unlock()
	m.kept, m.unwritten = 0, false
	for i, r := range list {
		m.kept += r.added()
		if i >= first {
			m.addRecord(r)
		}
	}
}

// ringFor returns the length of a ring for tokens.
func ringFor(tokens int) int {
	size := smallest
	for size < tokens && size < MaxTokens {
		size *= 2
	}
	return size
}

// newRecord returns what a text adds to the memory.
func (m *memory) newRecord(t Text, o Origin) record {
	r := record{Origin: o, Hash: seed, Prompt: t.Prompt}
	h := uint64(seed)
	for i, token := range t.Tokens {
		h = mix(h, token)
		at, known := m.marks[h]
		known = known && at >= m.corpus.oldest()
		if known {
			r.From, r.Hash = i+1, h
		} else if (i+1)%markEvery == 0 {
			break
		}
	}
	r.tokens = t.Tokens[r.From:]
	if len(r.tokens) == 0 {
		return r
	}
	if over := len(r.tokens) - (MaxTokens - 1 - leadTokens); over > 0 { // the newest stay
		for _, token := range r.tokens[:over] {
			r.Hash = mix(r.Hash, token)
		}
		r.From += over
	}
	r.Lead = min(r.From, leadTokens)
	r.tokens = t.Tokens[r.From-r.Lead:]
	r.Count = len(r.tokens)
	return r
}

// addRecord adds a record to the corpus.
func (m *memory) addRecord(r record) {
	m.makeRoom(len(r.tokens) + 1)
	m.mu.Lock()
	m.corpus.begin(r.Lead)
	for _, token := range r.tokens[:r.Lead] {
		m.corpus.add(token)
	}
	m.mu.Unlock()
	h, tokens := r.Hash, r.tokens[r.Lead:]
	for i := 0; i < len(tokens); {
		// marks are at positions of the text
		to := min(len(tokens), i+markEvery-(r.From+i)%markEvery)
		if p := r.Prompt - r.From; p > i && p < to {
			to = p
		}
		for _, token := range tokens[i:to] {
			h = mix(h, token)
		}
		m.add(tokens[i:to])
		m.marks[h] = m.corpus.end - 1
		i = to
	}
	if len(m.marks) > maxMarks {
		m.dropMarks()
	}
}

// dropMarks removes at least half of the marks, the oldest ones.
func (m *memory) dropMarks() {
	at := slices.Sorted(maps.Values(m.marks))
	oldest := max(m.corpus.oldest(), at[len(at)/2])
	for h, at := range m.marks {
		if at < oldest {
			delete(m.marks, h)
		}
	}
}

// add adds tokens, in pieces between which lookups go on.
func (m *memory) add(tokens []int32) {
	for piece := range slices.Chunk(tokens, addAtOnce) {
		m.mu.Lock()
		for _, t := range piece {
			m.corpus.add(t)
		}
		m.mu.Unlock()
	}
}

// makeRoom gives the corpus a larger ring if it needs one for n more tokens. Lookups use the old
// one meanwhile.
func (m *memory) makeRoom(n int) {
	c := m.corpus
	size := max(len(c.ring), ringFor(c.tokens()+n))
	if size == len(c.ring) && c.end+n < recount {
		return
	}
	next := c.resized(size)
	shift := c.end - next.end
	for h, at := range m.marks {
		if at -= shift; at < 0 {
			delete(m.marks, h)
		} else {
			m.marks[h] = at
		}
	}
	m.mu.Lock()
	m.corpus = next
	m.mu.Unlock()
}
