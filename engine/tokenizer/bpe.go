package tokenizer

import (
	"encoding/json"
	"sync"
	"unicode/utf8"
)

// bpe is the model. It cuts a word into its characters, or into its bytes under byteLevel. Then it
// merges neighbours: the earliest merge of the list first, and the leftmost of equal merges.
type bpe struct {
	vocab        map[string]int32
	pairs        map[uint64]int32 // left id << 32 | right id -> rank
	merged       []int32          // by rank: the id the pair becomes
	words        map[string]int32 // whole words under ignore_merges, as the pre-tokenizer yields them
	bytes        [256]int32       // under byteLevel: the token of each byte, or -1
	fallback     [256]int32       // under byte_fallback: the token <0xNN>, or -1
	byteLevel    bool
	byteFallback bool
	fuseUnk      bool
	unk          int32 // -1: characters without a token are dropped
	cache        wordCache
}

func parseBPE(raw json.RawMessage, byteLevel bool) (*bpe, error) {
	if absent(raw) {
		return nil, invalid("model", "it is missing")
	}
	var c struct {
		Type         *string         `json:"type"`
		Dropout      *float64        `json:"dropout"`
		Unk          *string         `json:"unk_token"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		Suffix       *string         `json:"end_of_word_suffix"`
		FuseUnk      bool            `json:"fuse_unk"`
		ByteFallback bool            `json:"byte_fallback"`
		IgnoreMerges bool            `json:"ignore_merges"`
		Vocab        json.RawMessage `json:"vocab"`
		Merges       json.RawMessage `json:"merges"`
	}
	formErr := component("model BPE", raw, &c)
	// Old files give no type; only BPE has merges.
	switch {
	case c.Type == nil && absent(c.Merges):
		return nil, unsupported("model", "a model without a type")
	case c.Type != nil && *c.Type != "BPE":
		return nil, unsupported("model", *c.Type)
	case formErr != nil:
		return nil, formErr
	case c.Dropout != nil && *c.Dropout != 0:
		return nil, unsupported("model BPE", "dropout")
	case c.Prefix != nil && *c.Prefix != "":
		return nil, unsupported("model BPE", "continuing_subword_prefix")
	case c.Suffix != nil && *c.Suffix != "":
		return nil, unsupported("model BPE", "end_of_word_suffix")
	}
	vocab, err := parseVocab(c.Vocab)
	if err != nil {
		return nil, err
	}
	m := &bpe{
		vocab:        vocab,
		byteLevel:    byteLevel,
		byteFallback: c.ByteFallback,
		fuseUnk:      c.FuseUnk,
		unk:          -1,
	}
	m.cache.init()
	if err := m.setMerges(c.Merges); err != nil {
		return nil, err
	}
	if c.Unk != nil {
		id, ok := m.vocab[*c.Unk]
		if !ok {
			return nil, invalid("model BPE", "unk_token %.40q is not in the vocabulary", *c.Unk)
		}
		m.unk = id
	}
	for b := range 256 {
		m.bytes[b], m.fallback[b] = -1, -1
		if id, ok := m.vocab[byteChars[b]]; ok {
			m.bytes[b] = id
		}
		if id, ok := m.vocab[byteToken(byte(b))]; ok {
			m.fallback[b] = id
		}
	}
	if c.IgnoreMerges {
		m.setWords()
	}
	return m, nil
}

func (m *bpe) setMerges(raw json.RawMessage) error {
	m.pairs = make(map[uint64]int32, len(m.vocab))
	var joined []byte
	return eachMerge(raw, func(rank int, left, right string) error {
		if rank >= maxMerges {
			return tooLarge("merges", "there are more than %d", maxMerges)
		}
		joined = append(append(joined[:0], left...), right...)
		a, okA := m.vocab[left]
		b, okB := m.vocab[right]
		ab, okAB := m.vocab[string(joined)]
		if !okA || !okB || !okAB {
			return invalid("merges",
				"entry %d, %.40q and %.40q, names a token that is not in the vocabulary",
				rank, left, right)
		}
		m.pairs[pairKey(a, b)] = int32(rank)
		m.merged = append(m.merged, ab)
		return nil
	})
}

// setWords builds words. Its keys are what the pre-tokenizer yields. Under byteLevel these are
// bytes and not the characters of the alphabet.
func (m *bpe) setWords() {
	if !m.byteLevel {
		m.words = m.vocab
		return
	}
	m.words = make(map[string]int32, len(m.vocab))
	for token, id := range m.vocab {
		if raw, ok := appendByteChars(nil, token); ok {
			m.words[string(raw)] = id
		}
	}
}

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

// appendWord appends the tokens of one word to dst.
func (m *bpe) appendWord(dst []int32, word string) []int32 {
	if id, ok := m.words[word]; ok {
		return append(dst, id)
	}
	if len(word) > maxCachedWord {
		return m.appendMerged(dst, word)
	}
	if ids, ok := m.cache.get(word); ok {
		return append(dst, ids...)
	}
	start := len(dst)
	dst = m.appendMerged(dst, word)
	m.cache.put(word, dst[start:])
	return dst
}

func (m *bpe) appendMerged(dst []int32, word string) []int32 {
	w := wordPool.Get().(*wordState)
	w.ids = m.appendSymbols(w.ids[:0], word)
	m.merge(w)
	for _, id := range w.ids {
		if id >= 0 {
			dst = append(dst, id)
		}
	}
	if cap(w.ids) <= maxPooledWord {
		wordPool.Put(w)
	}
	return dst
}

// appendSymbols appends the tokens of the word's characters.
func (m *bpe) appendSymbols(ids []int32, word string) []int32 {
	pending := 0 // unknown characters whose unk token is not appended yet
	known := func(id int32) {
		if pending > 0 {
			ids = append(ids, m.unk)
			pending = 0
		}
		ids = append(ids, id)
	}
	for i := 0; i < len(word); {
		var s string
		if m.byteLevel {
			b := word[i]
			i++
			if id := m.bytes[b]; id >= 0 {
				known(id)
				continue
			}
			s = byteChars[b]
		} else {
			_, n := utf8.DecodeRuneInString(word[i:])
			s = word[i : i+n]
			i += n
			if id, ok := m.vocab[s]; ok {
				known(id)
				continue
			}
		}
		if m.byteFallback && m.hasFallback(s) {
			// An unk for characters before these bytes is appended after the bytes, as in the
			// reference.
			for _, b := range []byte(s) {
				ids = append(ids, m.fallback[b])
			}
			continue
		}
		if m.unk >= 0 {
			if pending > 0 && !m.fuseUnk {
				ids = append(ids, m.unk)
			}
			pending = 1
		}
	}
	if pending > 0 {
		ids = append(ids, m.unk)
	}
	return ids
}

func (m *bpe) hasFallback(s string) bool {
	for _, b := range []byte(s) {
		if m.fallback[b] < 0 {
			return false
		}
	}
	return true
}

// wordState is the working memory of one merge.
type wordState struct {
	ids        []int32 // -1: merged into its left neighbour
	prev, next []int32
	heap       []uint64 // rank << 32 | position of the left part, smallest first
}

// maxPooledWord limits the working memory that is kept for the next word, in characters. A
// character needs 20 bytes of it.
const maxPooledWord = 1 << 16

var wordPool = sync.Pool{New: func() any { return new(wordState) }}

// merge applies the merges to w.ids. Each merge costs a few heap operations. So a text without a
// word boundary takes O(n log n).
func (m *bpe) merge(w *wordState) {
	n := len(w.ids)
	if n < 2 {
		return
	}
	w.prev, w.next, w.heap = w.prev[:0], w.next[:0], w.heap[:0]
	for i := range n {
		w.prev = append(w.prev, int32(i-1))
		w.next = append(w.next, int32(i+1))
		if i+1 < n {
			if rank, ok := m.pairs[pairKey(w.ids[i], w.ids[i+1])]; ok {
				w.heap = append(w.heap, uint64(rank)<<32|uint64(i))
			}
		}
	}
	for i := len(w.heap)/2 - 1; i >= 0; i-- {
		siftDown(w.heap, i)
	}
	push := func(left, right int32) {
		if rank, ok := m.pairs[pairKey(w.ids[left], w.ids[right])]; ok {
			w.heap = append(w.heap, uint64(rank)<<32|uint64(left))
			siftUp(w.heap)
		}
	}
	for len(w.heap) > 0 {
		top := w.heap[0]
		last := len(w.heap) - 1
		w.heap[0] = w.heap[last]
		w.heap = w.heap[:last]
		siftDown(w.heap, 0)

		left := int32(uint32(top))
		right := w.next[left]
		if w.ids[left] < 0 || int(right) == n {
			continue
		}
		// The entry is stale if the pair that stands there now makes another token.
		made := m.merged[top>>32]
		if rank, ok := m.pairs[pairKey(w.ids[left], w.ids[right])]; !ok || m.merged[rank] != made {
			continue
		}
		w.ids[left], w.ids[right] = made, -1
		after := w.next[right]
		w.next[left] = after
		if int(after) < n {
			w.prev[after] = left
		}
		if before := w.prev[left]; before >= 0 {
			push(before, left)
		}
		if int(after) < n {
			push(left, after)
		}
	}
}

func siftDown(h []uint64, i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[i] <= h[child] {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// siftUp restores the order after an append.
func siftUp(h []uint64) {
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent] <= h[i] {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}
