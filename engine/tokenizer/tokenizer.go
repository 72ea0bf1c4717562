package tokenizer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"
)

// A Tokenizer is the tokenizer of one model. It is safe for concurrent use.
type Tokenizer struct {
	tokens      []token // by id
	addedIDs    map[string]int32
	model       *bpe
	normalizers []normalizer
	words       preTokenizers
	raw         *addedSet // added tokens that are found in the text as given
	normalized  *addedSet // added tokens that are found in the normalized text
	template    template
	decoder     *decoder
	bos, eos    int32
	hasBOS      bool
	hasEOS      bool

	longest func() int    // see LongestToken; computed once
	hash    func() string // see Hash; likewise
}

// token is one entry of the vocabulary.
type token struct {
	spelling string
	decoded  string // the decoder's input: an added token's normalized form
	known    bool   // false in the gaps between ids
	special  bool
}

// Load reads the contents of tokenizer.json and, if there is one, of tokenizer_config.json. Its
// errors have type *Error.
func Load(tokenizerJSON, configJSON []byte) (*Tokenizer, error) {
	f, err := parseFile(tokenizerJSON)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(configJSON)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{raw: newAddedSet(), normalized: newAddedSet(), addedIDs: make(map[string]int32)}
	if err := t.words.parse(f.PreTokenizer, 0); err != nil {
		return nil, err
	}
	if t.normalizers, err = parseNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if t.decoder, err = parseDecoder(f.Decoder); err != nil {
		return nil, err
	}
	if err := t.template.parse(f.PostProcessor, 0); err != nil {
		return nil, err
	}
	if t.model, err = parseBPE(f.Model, t.words.byteLevel); err != nil {
		return nil, err
	}
	if err := t.setVocab(); err != nil {
		return nil, err
	}
	added, err := parseAdded(f.AddedTokens)
	if err != nil {
		return nil, err
	}
	for _, a := range added {
		if err := t.addToken(a); err != nil {
			return nil, err
		}
	}
	more, err := c.added()
	if err != nil {
		return nil, err
	}
	for _, a := range more {
		if _, ok := t.addedIDs[a.Content]; ok {
			continue
		}
		if err := t.addToken(a); err != nil {
			return nil, err
		}
	}
	for _, ids := range [][]int32{t.template.prefix, t.template.suffix} {
		for _, id := range ids {
			if !t.known(id) {
				return nil, invalid("post_processor",
					"it adds the id %d, which is not in the vocabulary", id)
			}
		}
	}
	if len(t.template.prefix) > 0 {
		t.bos, t.hasBOS = t.template.prefix[0], true
	}
	if err := c.apply(t); err != nil {
		return nil, err
	}
	t.longest, t.hash = sync.OnceValue(t.findLongest), sync.OnceValue(t.hashTokens)
	return t, nil
}

func (t *Tokenizer) setVocab() error {
	for spelling, id := range t.model.vocab {
		t.grow(id)
		if t.tokens[id].known {
			return invalid("model BPE",
				"tokens %q and %q have the same id %d", t.tokens[id].spelling, spelling, id)
		}
		t.tokens[id] = token{spelling: spelling, decoded: spelling, known: true}
	}
	return nil
}

func (t *Tokenizer) grow(id int32) {
	for len(t.tokens) <= int(id) {
		t.tokens = append(t.tokens, token{})
	}
}

// addToken adds one added token to the vocabulary.
func (t *Tokenizer) addToken(a addedToken) error {
	switch {
	case a.Content == "":
		return nil // the reference skips it
	case len(a.Content) > maxAddedBytes:
		return tooLarge("added_tokens",
			"token %d has %d bytes; the limit is %d", a.ID, len(a.Content), maxAddedBytes)
	case a.ID < 0 || a.ID >= maxVocab:
		return invalid("added_tokens",
			"token %q has the id %d; ids lie between 0 and %d", a.Content, a.ID, maxVocab-1)
	}
	id := int32(a.ID)
	if have, ok := t.ID(a.Content); ok && have != id {
		return invalid("added_tokens",
			"token %q has the id %d, but %d in the vocabulary", a.Content, id, have)
	}
	if t.known(id) && t.tokens[id].spelling != a.Content {
		return invalid("added_tokens",
			"tokens %q and %q have the same id %d", t.tokens[id].spelling, a.Content, id)
	}
	pattern, set := a.Content, t.raw
	if a.Normalized {
		set = t.normalized
		left := newMeter(a.Content)
		if n := t.normalize(piece{text: a.Content, left: left}).text; n != "" {
			pattern = n
		}
		if left.err != nil {
			return left.err
		}
	}
	if len(t.raw.ends)+len(t.normalized.ends) > maxAddedNodes {
		return tooLarge("added_tokens",
			"they have more than %d characters that no two share", maxAddedNodes)
	}
	if !set.add(pattern, a) {
		return invalid("added_tokens", "two tokens are found by the text %q", pattern)
	}
	t.grow(id)
	t.tokens[id] = token{spelling: a.Content, decoded: pattern, known: true, special: a.Special}
	t.addedIDs[a.Content] = id
	return nil
}

func (t *Tokenizer) normalize(p piece) piece {
	for _, n := range t.normalizers {
		if p = n.normalize(p); p.left.take(p.text) {
			p.text = ""
			break
		}
	}
	return p
}

func (t *Tokenizer) known(id int32) bool {
	return id >= 0 && int(id) < len(t.tokens) && t.tokens[id].known
}

// EncodeOptions are the options of Encode. The zero value is for a prompt that a chat template
// rendered.
type EncodeOptions struct {
	// AddSpecial adds the tokens of the post-processor, like a leading BOS.
	AddSpecial bool
	// NoSpecial reads the text of a special token as ordinary text. Added tokens that are not
	// special are still found.
	NoSpecial bool
}

// Encode returns the ids of text. It fails only if the stages take too long on the text or make it
// too long. The error is then an *Error of CodeTooSlow or CodeTooLarge.
func (t *Tokenizer) Encode(text string, opts EncodeOptions) ([]int32, error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	ids := make([]int32, 0, len(text)/3+8)
	if opts.AddSpecial {
		ids = append(ids, t.template.prefix...)
	}
	found := func(id int32) { ids = append(ids, id) }
	whole := piece{text: text, first: true, left: newMeter(text)}
	word := func(p piece) {
		if !whole.left.word(p.text) {
			ids = t.model.appendWord(ids, p.text)
		}
	}
	t.raw.split(whole, opts.NoSpecial, func(p piece) {
		t.normalized.split(t.normalize(p), opts.NoSpecial, func(p piece) {
			t.words.each(0, p, word)
		}, found)
	}, found)
	if err := whole.left.err; err != nil {
		return nil, err
	}
	if opts.AddSpecial {
		ids = append(ids, t.template.suffix...)
	}
	return ids, nil
}

// TokenBytes returns the bytes of a token, which need not be whole characters. For a special token
// it returns the token's text, for an id outside the vocabulary nil. The caller owns the result.
func (t *Tokenizer) TokenBytes(id int32) []byte {
	if !t.known(id) {
		return nil
	}
	if t.tokens[id].special {
		return []byte(t.tokens[id].spelling)
	}
	return t.decoder.tokenBytes(t.tokens[id].decoded)
}

// Token returns the spelling of a token in the vocabulary, or "" if the id is unknown.
func (t *Tokenizer) Token(id int32) string {
	if !t.known(id) {
		return ""
	}
	return t.tokens[id].spelling
}

// ID returns the token with this spelling, or false.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.addedIDs[token]; ok {
		return id, true
	}
	id, ok := t.model.vocab[token]
	return id, ok
}

// IsSpecial reports whether id is a special token.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return t.known(id) && t.tokens[id].special
}

// Size returns the largest id plus one, added tokens included.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// BaseSize returns the largest id plus one of the vocabulary without the added tokens. A model need
// not know all added tokens.
func (t *Tokenizer) BaseSize() int {
	for id := len(t.tokens) - 1; id >= 0; id-- {
		if _, added := t.addedIDs[t.tokens[id].spelling]; t.tokens[id].known && !added {
			return id + 1
		}
	}
	return 0
}

// LongestToken returns the bytes of the longest token, at least 1.
func (t *Tokenizer) LongestToken() int { return t.longest() }

func (t *Tokenizer) findLongest() int {
	n := 1
	for id := range t.tokens {
		n = max(n, len(t.TokenBytes(int32(id))))
	}
	return n
}

// Hash returns a text that differs between tokenizers whose tokens differ.
func (t *Tokenizer) Hash() string { return t.hash() }

func (t *Tokenizer) hashTokens() string {
	h := sha256.New()
	var size [4]byte
	for id := range t.tokens {
		token := t.TokenBytes(int32(id))
		binary.LittleEndian.PutUint32(size[:], uint32(len(token)))
		h.Write(size[:])
		h.Write(token)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// BOS returns the token at the beginning of a text. It is the one in tokenizer_config.json,
// otherwise the first that the post-processor adds.
func (t *Tokenizer) BOS() (int32, bool) { return t.bos, t.hasBOS }

// EOS returns the token at the end of a text. Only tokenizer_config.json names one.
func (t *Tokenizer) EOS() (int32, bool) { return t.eos, t.hasEOS }
