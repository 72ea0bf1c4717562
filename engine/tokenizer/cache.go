package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

const (
	cacheShards    = 16
	cacheShardSize = 2048 // words of one generation of one shard
	maxCachedWord  = 128  // bytes; at most 65,536 words, some 15 MB, are kept
)

// wordCache keeps the tokens of words seen lately. Each shard has two generations. When the young
// one is full, the old one is dropped. So a word in use stays and the size is bounded.
type wordCache struct {
	seed   maphash.Seed
	shards [cacheShards]cacheShard
}

type cacheShard struct {
	mu         sync.Mutex
	young, old map[string][]int32
}

func (c *wordCache) init() { c.seed = maphash.MakeSeed() }

func (c *wordCache) shard(word string) *cacheShard {
	return &c.shards[maphash.String(c.seed, word)%cacheShards]
}

// get returns the tokens of a word. The caller must not change them.
func (c *wordCache) get(word string) ([]int32, bool) {
	s := c.shard(word)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ids, ok := s.young[word]; ok {
		return ids, true
	}
	ids, ok := s.old[word]
	if ok {
		s.put(strings.Clone(word), ids)
	}
	return ids, ok
}

// put stores copies of word and ids.
func (c *wordCache) put(word string, ids []int32) {
	s := c.shard(word)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(strings.Clone(word), slices.Clone(ids))
}

func (s *cacheShard) put(word string, ids []int32) {
	if s.young == nil || len(s.young) >= cacheShardSize {
		s.old, s.young = s.young, make(map[string][]int32)
	}
	s.young[word] = ids
}
