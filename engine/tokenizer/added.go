package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is searched for in the text itself, before the model cuts it.
type addedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only between non-word characters
	LStrip     bool   `json:"lstrip"`      // takes the white space on its left
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"` // found in the normalized text
	Special    bool   `json:"special"`
}

// addedSet finds tokens in a text, from left to right. Where several begin, it takes the longest.
type addedSet struct {
	first  [256]bool // bytes a token begins with
	next   map[uint64]int32
	ends   []int32 // by node: index in tokens, or -1
	tokens []addedToken
}

func newAddedSet() *addedSet {
	return &addedSet{next: make(map[uint64]int32), ends: []int32{-1}}
}

// add makes pattern stand for the token. It reports whether the pattern is new.
func (s *addedSet) add(pattern string, token addedToken) bool {
	s.first[pattern[0]] = true
	node := int32(0)
	for i := range len(pattern) {
		key := uint64(node)<<8 | uint64(pattern[i])
		child, ok := s.next[key]
		if !ok {
			child = int32(len(s.ends))
			s.ends = append(s.ends, -1)
			s.next[key] = child
		}
		node = child
	}
	if s.ends[node] >= 0 {
		return false
	}
	s.ends[node] = int32(len(s.tokens))
	s.tokens = append(s.tokens, token)
	return true
}

// longest returns the longest token at the start of text and its length, or nil. It has looked at
// so many bytes.
func (s *addedSet) longest(text string) (found *addedToken, length, looked int) {
	node := int32(0)
	for i := range len(text) {
		child, ok := s.next[uint64(node)<<8|uint64(text[i])]
		if looked = i; !ok {
			break
		}
		node = child
		if e := s.ends[node]; e >= 0 {
			found, length = &s.tokens[e], i+1
		}
	}
	return found, length, looked
}

// split walks over a piece in order. It calls found for each token, and between for each text that
// is not empty before, between or after the tokens.
func (s *addedSet) split(p piece, noSpecial bool, between func(p piece), found func(id int32)) {
	text := p.text
	done := 0 // text[:done] has been handed out
	for i := 0; i < len(text); {
		if !s.first[text[i]] {
			i++
			continue
		}
		token, n, looked := s.longest(text[i:])
		if p.left.take(text[i : i+looked]) {
			return
		}
		if token == nil {
			i++
			continue
		}
		start, end := i, i+n
		i = end
		if noSpecial && token.Special {
			continue
		}
		if token.SingleWord {
			before, _ := utf8.DecodeLastRuneInString(text[:start])
			after, _ := utf8.DecodeRuneInString(text[end:])
			if start > 0 && isWord(before) || end < len(text) && isWord(after) {
				continue
			}
		}
		if token.LStrip && start > done {
			start = done + len(strings.TrimRightFunc(text[done:start], unicode.IsSpace))
		}
		if token.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if done < start {
			between(p.cut(done, start))
		}
		found(int32(token.ID))
		done = end
	}
	if done < len(text) {
		between(p.cut(done, len(text)))
	}
}
