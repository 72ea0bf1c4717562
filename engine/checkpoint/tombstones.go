package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"sync"
)

// maxTombstones is how many lost checkpoints are remembered.
const maxTombstones = 10_000

// tombstones records why checkpoints are gone, by the digests of their texts. It may be used from any
// goroutine.
type tombstones struct {
	mu    sync.Mutex
	why   map[int]map[string]string // by the length of the text and by its digest
	count int
}

// add records why the checkpoint of a text is gone. length is the length of the text in tokens.
func (g *tombstones) add(length int, digest, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count >= maxTombstones { // most are of long ago
		g.why, g.count = nil, 0
	}
	if g.why == nil {
		g.why = map[int]map[string]string{}
	}
	if g.why[length] == nil {
		g.why[length] = map[string]string{}
	}
	if g.why[length][digest] == "" {
		g.count++
	}
	g.why[length][digest] = why
}

// clear removes all of them.
func (g *tombstones) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why, g.count = nil, 0
}

// find returns the longest beginning of a text whose checkpoint is gone, and why it is gone. It
// looks at beginnings longer than from that end before the last token. Without one it returns 0.
func (g *tombstones) find(tokens []int32, from int) (length int, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	lengths := slices.Sorted(maps.Keys(g.why))
	h, at := sha256.New(), 0
	for _, n := range lengths {
		if n <= from {
			continue
		}
		if n >= len(tokens) {
			break
		}
		hashTokens(h, tokens[at:n])
		at = n
		if w, ok := g.why[n][sumTokens(h)]; ok {
			length, why = n, w
		}
	}
	return length, why
}

// digestOf identifies a text without its tokens: 16 bytes of its SHA-256, in hex.
func digestOf(tokens []int32) string {
	h := sha256.New()
	hashTokens(h, tokens)
	return sumTokens(h)
}

func hashTokens(h hash.Hash, tokens []int32) {
	var b []byte
	for part := range slices.Chunk(tokens, 1024) {
		b = b[:0]
		for _, id := range part {
			b = binary.LittleEndian.AppendUint32(b, uint32(id))
		}
		h.Write(b)
	}
}

// sumTokens returns the digest of the tokens that h has got so far.
func sumTokens(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
