package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// encode is Encode for texts that no pattern is slow on.
func encode(t testing.TB, tok *Tokenizer, text string, opts EncodeOptions) []int32 {
	t.Helper()
	ids, err := tok.Encode(text, opts)
	if err != nil {
		t.Error(err)
	}
	return ids
}

func TestEveryIDHasASpelling(t *testing.T) {
	for _, name := range families {
		t.Run(name, func(t *testing.T) {
			_, tok, _ := family(t, name)
			specials := 0
			for id := range int32(tok.Size()) {
				spelling := tok.Token(id)
				if spelling == "" {
					t.Fatalf("token %d has no spelling", id)
				}
				if back, ok := tok.ID(spelling); !ok || back != id {
					t.Errorf("ID(%q) = %d, %v, want %d", spelling, back, ok, id)
				}
				if tok.IsSpecial(id) {
					specials++
					if got := string(tok.TokenBytes(id)); got != spelling {
						t.Errorf("bytes of special %q are %q", spelling, got)
					}
				}
			}
			if specials == 0 {
				t.Error("no special tokens")
			}
			for _, id := range []int32{-1, int32(tok.Size()), 1 << 30, -1 << 31} {
				if tok.Token(id) != "" || tok.TokenBytes(id) != nil || tok.IsSpecial(id) ||
					tok.Decode([]int32{id}, false) != "" {
					t.Errorf("id %d outside the vocabulary is known", id)
				}
			}
		})
	}
}

// The bytes of a text's tokens make the text again.
func TestTokenBytesMakeTheText(t *testing.T) {
	for _, name := range families {
		t.Run(name, func(t *testing.T) {
			r, tok, strs := family(t, name)
			for i, ids := range r.IDs {
				var got []byte
				for _, id := range ids {
					got = append(got, tok.TokenBytes(id)...)
				}
				want := orElse(r.Decode, i, strs[i])
				if name == "llama2" { // its decoder drops a text's first space
					got = bytes.TrimPrefix(got, []byte(" "))
				}
				if string(got) != want {
					t.Errorf("bytes %q, want %q", got, want)
				}
			}
		})
	}
}

// The pieces of streamed texts equal the recorded decodes, and the pieces of random ids equal
// Decode.
func TestStreamEqualsDecode(t *testing.T) {
	for _, name := range families {
		t.Run(name, func(t *testing.T) {
			r, tok, strs := family(t, name)
			run := func(ids []int32, skip bool) string {
				s := tok.NewStream(skip)
				var all strings.Builder
				pieces := make([]string, 0, len(ids)+1)
				for _, id := range ids {
					pieces = append(pieces, s.Push(id))
				}
				for _, p := range append(pieces, s.Flush()) {
					if !utf8.ValidString(p) {
						t.Fatalf("the piece %q splits a character", p)
					}
					all.WriteString(p)
				}
				return all.String()
			}
			for i, ids := range r.IDs {
				if got, want := run(ids, false), orElse(r.Decode, i, strs[i]); got != want {
					t.Errorf("stream %q, want %q", got, want)
				}
				if got, want := run(ids, true), orElse(r.DecodeSkip, i, strs[i]); got != want {
					t.Errorf("stream without specials %q, want %q", got, want)
				}
			}
			rng := rand.New(rand.NewPCG(1, 2))
			for range 2000 {
				ids := make([]int32, rng.IntN(30))
				for i := range ids {
					ids[i] = int32(rng.IntN(300)) // mostly bytes
					if rng.IntN(4) == 0 {
						ids[i] = int32(rng.IntN(tok.Size()+10)) - 5
					}
				}
				skip := rng.IntN(2) == 0
				if got, want := run(ids, skip), tok.Decode(ids, skip); got != want {
					t.Errorf("stream of %v: %q, want %q", ids, got, want)
				}
			}
		})
	}
}

// A token's text comes out with the token that completes it.
func TestStreamHoldsBackOnlyIncompleteText(t *testing.T) {
	for _, c := range []struct {
		family string
		tokens []string
		want   []string // the last is Flush's
	}{
		{"llama2", []string{"▁a", "<0x0A>", "▁a"}, []string{"a", "\n", " a", ""}},
		{"llama2", []string{"<0xE2>", "<0x82>", "<0xAC>"}, []string{"", "", "€", ""}},
		{"llama2", []string{"<0x0A>", "<0xE2>", "<0x82>", "▁a"}, []string{"\n", "", "", "\ufffd\ufffd a", ""}},
		{"llama2", []string{"<0xE2>", "<0x82>"}, []string{"", "", "\ufffd\ufffd"}},
		{"llama2", []string{"▁", "▁a"}, []string{"", " a", ""}},
		{"llama2", []string{"<s>", "▁a"}, []string{"<s>", " a", ""}},
		{"gemma", []string{"▁a", "<0xFF>", "a"}, []string{" a", "\ufffd", "a", ""}},
		{"qwen", []string{"â", "Ĥ", "¬"}, []string{"", "", "€", ""}},
		{"qwen", []string{"Ġ", "â", "Ĥ", "Ġ", "ÿ"}, []string{" ", "", "", "\ufffd ", "\ufffd", ""}},
		{"qwen", []string{"ð", "Ł", "ĳ"}, []string{"", "", "", "\ufffd"}},
		{"qwen", []string{"a", "<|im_end|>"}, []string{"a", "<|im_end|>", ""}},
	} {
		_, tok, _ := family(t, c.family)
		s := tok.NewStream(false)
		for round := range 2 { // after Flush the stream begins a new text
			for i, token := range c.tokens {
				id, ok := tok.ID(token)
				if !ok {
					t.Fatalf("%s has no token %q", c.family, token)
				}
				if got := s.Push(id); got != c.want[i] {
					t.Errorf("%s %q, round %d: piece %d is %q, want %q",
						c.family, c.tokens, round, i, got, c.want[i])
				}
			}
			if got, want := s.Flush(), c.want[len(c.tokens)]; got != want {
				t.Errorf("%s %q, round %d: Flush %q, want %q", c.family, c.tokens, round, got, want)
			}
		}
	}
}

// Decode differs from the reference in byte runs: see the package comment.
func TestIllFormedBytesAreReplacedOneByOne(t *testing.T) {
	_, tok, _ := family(t, "llama2")
	ids := func(tokens ...string) (out []int32) {
		for _, token := range tokens {
			id, _ := tok.ID(token)
			out = append(out, id)
		}
		return out
	}
	if got, want := tok.Decode(ids("<0x0A>", "<0xC3>", "<0xA9>", "<0xC3>"), false),
		"\né\ufffd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInvalidUTF8IsEncodedAsReplacement(t *testing.T) {
	for _, name := range families {
		_, tok, _ := family(t, name)
		got := encode(t, tok, "a\xff\xfeb\xc3", EncodeOptions{})
		if want := encode(t, tok, "a\ufffdb\ufffd", EncodeOptions{}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Goroutines share a tokenizer with a cold cache.
func TestGoroutinesShareATokenizer(t *testing.T) {
	for _, name := range families {
		r, tok, strs := family(t, name)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range strs {
					i = (i + g*500) % len(strs)
					if got := encode(t, tok, strs[i], EncodeOptions{}); !slices.Equal(got,
						r.IDs[i]) {
						t.Errorf("%s: %q gives %v, want %v", name, strs[i], got, r.IDs[i])
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c wordCache
	c.init()
	for i := range 4 * cacheShards * cacheShardSize {
		c.put(string(rune(0x10000+i)), []int32{int32(i)})
	}
	total := 0
	for i := range c.shards {
		total += len(c.shards[i].young) + len(c.shards[i].old)
	}
	if most := 2 * cacheShards * cacheShardSize; total > most || total < most/4 {
		t.Errorf("%d words are kept, the bound is %d", total, most)
	}
	c.put("word", []int32{7})
	if ids, ok := c.get("word"); !ok || !slices.Equal(ids, []int32{7}) {
		t.Errorf("got %v, %v", ids, ok)
	}
	if _, ok := c.get("other"); ok {
		t.Error("an unknown word is found")
	}
}

// A text of 2 MB without a boundary is encoded. Quadratic work would run into the test's time
// limit.
func TestHugeWordTakesNoQuadraticTime(t *testing.T) {
	for name, unit := range map[string]string{"qwen": "abcdefghijklmnopqrst", "gemma": "x = "} {
		_, tok, _ := family(t, name)
		text := strings.Repeat(unit, (2<<20)/len(unit))
		if got := tok.Decode(encode(t, tok, text, EncodeOptions{}), false); got != text {
			t.Errorf("%s: %d bytes of %q come back as %d", name, len(text), unit, len(got))
		}
	}
}

// A pattern that backtracks without end fails its text, and no other.
func TestSlowPatternFailsOnlyItsText(t *testing.T) {
	tok, err := Load(tiny(map[string]string{
		"pre_tokenizer": `{"type":"Sequence","pretokenizers":[` +
			splitJSON(strings.Repeat("(?:aa|a)", 50)+"c") +
			`,{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}`,
		"added_tokens": `[{"id":5,"content":"<s>","special":true}]`,
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	re := tok.words.stages[0].(split).matcher.(regexMatcher).re
	re.MatchTimeout = time.Millisecond
	slow := strings.Repeat("a", 75) // more than 2^50 ways to match
	for _, text := range []string{slow, "ab<s>" + slow, slow + "<s>ab"} {
		ids, err := tok.Encode(text, EncodeOptions{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeTooSlow || ids != nil {
			t.Errorf("%q gives %v, %v", text, ids, err)
		}
	}
	re.MatchTimeout = matchTime
	if got, want := encode(t, tok, "ab<s>a", EncodeOptions{}),
		[]int32{2, 5, 0}; !slices.Equal(got, want) {
		t.Errorf("after it: %v, want %v", got, want)
	}
}

// All matches of a text share one time limit, however fast each is.
func TestMatchesOfATextShareOneTimeLimit(t *testing.T) {
	m, err := newRegexMatcher("test", "c")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"c", "aa"} {
		left := &meter{until: time.Now().Add(-time.Second)}
		if m.spans(text, left); left.err == nil {
			t.Errorf("%q is cut after the time limit", text)
		}
	}
	left := &meter{until: time.Now().Add(time.Millisecond)}
	if m.spans(strings.Repeat("c", 1<<24), left); left.err == nil {
		t.Error("16 million matches take a millisecond")
	}
}

// Added tokens do not count, in whichever file they are listed.
func TestBaseSizeLeavesOutAddedTokens(t *testing.T) {
	for name, want := range map[string][2]int{"gpt2": {6000, 6001}, "qwen": {6000, 6006},
		"gemma": {5000, 5004}} {
		_, tok, _ := family(t, name)
		if got := [2]int{tok.BaseSize(), tok.Size()}; got != want {
			t.Errorf("%s: base size and size are %v, want %v", name, got, want)
		}
	}
}

// scanned are the patterns that have scanners.
var scanned = []string{patternGPT2, patternLlama3, patternQwen, patternTekken, patternGPT4o}

// The hand-written scanners find the same pieces as their patterns.
func TestScannersEqualTheirPatterns(t *testing.T) {
	_, _, strs := family(t, "qwen")
	for _, pattern := range scanned {
		scan := scannerFor(pattern)
		m, err := newRegexMatcher("test", pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range strs {
			compareScanner(t, s, scan, m)
		}
	}
}

// Case folding makes the long s an s, in a contraction as elsewhere. The reference cuts "it'ſx"
// into "it", "'ſ" and "x".
func TestLongSFoldsToS(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          int
	}{
		{patternQwen, "'ſx", len("'ſ")},
		{patternLlama3, "'ſx", len("'ſ")},
		{patternGPT2, "'ſx", len("'")},
	} {
		if got := scannerFor(c.pattern)(c.text); got != c.want {
			t.Errorf("%s: the first piece of %q has %d bytes, want %d",
				c.pattern, c.text, got, c.want)
		}
	}
}

func compareScanner(t *testing.T, s string, scan scanner, m regexMatcher) {
	t.Helper()
	for _, r := range s {
		// The pattern matcher knows neither Unicode 16 nor the long s.
		if r == 'ſ' || isLetter(r) != unicode.IsLetter(r) || isNumber(r) != unicode.IsNumber(r) {
			return
		}
	}
	at := 0
	left := newMeter(s)
	defer func() {
		if left.err != nil {
			t.Error(left.err)
		}
	}()
	for _, sp := range m.spans(s, left) {
		if n := scan(s[at:]); !sp.match || sp.start != at || sp.end != at+n {
			t.Fatalf("%q: the scanner ends at %d, the pattern at %d (from %d)", s, at+n, sp.end, at)
		}
		at = sp.end
	}
}

func FuzzScanners(f *testing.F) {
	for _, s := range []string{"it's IT'LL  x\n\n y 1234", "\r\n a\t\tb", "é中 !?\n", "'' 'v",
		" \u00a0\u2028x", "ABCdef'll XYZ 日本ABC a\u0301B \u0301AB\u0301c ǅa ʰA /a//\n/"} {
		f.Add(s)
	}
	type pair struct {
		scan scanner
		m    regexMatcher
	}
	var pairs []pair
	for _, pattern := range scanned {
		m, err := newRegexMatcher("fuzz", pattern)
		if err != nil {
			f.Fatal(err)
		}
		pairs = append(pairs, pair{scannerFor(pattern), m})
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		for _, p := range pairs {
			compareScanner(t, s, p.scan, p.m)
		}
	})
}

// Load never panics, whatever the file holds. A tokenizer that it accepts encodes and decodes.
func FuzzLoad(f *testing.F) {
	f.Add(tiny(nil), "ab <s>")
	f.Add(tiny(map[string]string{"added_tokens": `[{"id":5,"content":"<s>","special":true,"lstrip":true,"rstrip":true,"single_word":true}]`}),
		" <s> a")
	f.Add(tiny(map[string]string{"post_processor": bosTemplate(5)}), "ab")
	f.Add(tiny(map[string]string{"pre_tokenizer": splitJSON(`\p{N}{1,3}|[^\r\n]`)}), "a1234")
	f.Add(tiny(map[string]string{
		"model":         model(`,"unk_token":"a","fuse_unk":true,"byte_fallback":true`),
		"normalizer":    `{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"_"},{"type":"Replace","pattern":{"String":" "},"content":"_"},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"NFC"}]}`,
		"pre_tokenizer": `{"type":"Sequence","pretokenizers":[{"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":true},{"type":"Digits","individual_digits":true},{"type":"Split","pattern":{"String":"b"},"behavior":"MergedWithNext","invert":true}]}`,
		"decoder":       `{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}`,
	}), "e\u0301 b")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := Load(data, nil)
		if err != nil {
			return
		}
		for _, s := range tok.words.stages {
			if s, ok := s.(split); ok {
				if m, ok := s.matcher.(regexMatcher); ok {
					m.re.MatchTimeout = 20 * time.Millisecond
				}
			}
		}
		for _, opts := range []EncodeOptions{{}, {AddSpecial: true}, {NoSpecial: true}} {
			ids, err := tok.Encode(text, opts)
			if err != nil {
				return // the pattern is slow
			}
			for _, id := range ids {
				if !tok.known(id) {
					t.Fatalf("Encode gives the id %d, which is not in the vocabulary", id)
				}
			}
			if !utf8.ValidString(tok.Decode(ids, false)) {
				t.Fatal("Decode gives invalid UTF-8")
			}
		}
		for id := range int32(min(tok.Size(), 1000)) {
			tok.TokenBytes(id)
		}
	})
}

// processors are post-processors that are read, and ones that are refused.
func processors() []string {
	const (
		start = `{"SpecialToken":{"id":"<s>","type_id":0}}`
		text  = `{"Sequence":{"id":"A","type_id":0}}`
	)
	template := func(ids string, single ...string) string {
		return `{"type":"TemplateProcessing","single":[` + strings.Join(single, ",") + `],"pair":[],` +
			`"special_tokens":{"<s>":{"id":"<s>","ids":[` + ids + `],"tokens":["<s>"]}}}`
	}
	sequence := func(list ...string) string {
		return `{"type":"Sequence","processors":[` + strings.Join(list, ",") + `]}`
	}
	byteLevel := `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false}`
	return []string{
		"null",
		"0e08", // not an object
		`{"type":"Prefix"}`,
		byteLevel,
		`{"type":"BertProcessing","sep":["b",1],"cls":["a",0]}`,
		`{"type":"RobertaProcessing","sep":["b",1],"cls":["a",-1],"trim_offsets":true,"add_prefix_space":false}`,
		template("5", start, text, start),
		template("99", start, text), // an unknown id
		template("5e2", start, text),
		template("5", text, text),
		template("5", start, `{}`),
		template("5", `{"SpecialToken":{"id":0}}`),
		template("5", `{"Piece":{"id":"A","type_id":0}}`),
		template(strings.Repeat("5,", 8)+"5", append(slices.Repeat([]string{start}, 9), text)...),
		sequence(byteLevel, template("5", start, text)),
		sequence(template("5", start, text), template("5", text)),
		sequence(sequence(template("2,5", text, start))),
	}
}

// FuzzPostProcessor checks that a post-processor adds few tokens, all of them known, and that what it
// adds stands around the text's own.
func FuzzPostProcessor(f *testing.F) {
	for _, processor := range processors() {
		f.Add([]byte(processor))
	}
	f.Fuzz(func(t *testing.T, processor []byte) {
		if !json.Valid(processor) {
			return
		}
		tok, err := Load(tiny(map[string]string{"post_processor": string(processor)}), nil)
		if err != nil {
			return
		}
		if n := max(len(tok.template.prefix), len(tok.template.suffix)); n > maxSpecials {
			t.Fatalf("it adds %d tokens on one side", n)
		}
		plain := encode(t, tok, "ab a", EncodeOptions{})
		framed := encode(t, tok, "ab a", EncodeOptions{AddSpecial: true})
		if want := slices.Concat(tok.template.prefix, plain, tok.template.suffix); !slices.Equal(
			framed, want) {
			t.Errorf("ids %v, want %v", framed, want)
		}
		for _, id := range framed {
			if !tok.known(id) {
				t.Errorf("it adds the id %d, which is not in the vocabulary", id)
			}
		}
	})
}

func FuzzEncodeDecode(f *testing.F) {
	var toks []*Tokenizer
	for _, name := range []string{"gpt2", "llama3", "qwen"} {
		_, tok, _ := family(f, name)
		toks = append(toks, tok)
	}
	for _, s := range []string{"", "Hello, wörld", "e\u0301\u0316 <|endoftext|>", "\xff",
		"각 ᄀ\u1161", "a\u0300\u0300\u0300"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := strings.ToValidUTF8(s, "\ufffd")
		if strings.Contains(text, ">\u0338") {
			return // composes with the end of a special token, which is ordinary text here
		}
		composed := nfc{}.normalize(piece{text: text}).text
		if ref := norm.NFC.String(text); composed != ref &&
			strings.Count(ref, "\u034f") == strings.Count(text, "\u034f") &&
			!strings.ContainsFunc(norm.NFD.String(text), isYoungMark) {
			t.Fatalf("NFC of %q is %q, want %q", text, composed, ref)
		}
		for i, tok := range toks {
			want := text
			if i == 2 {
				want = composed
			}
			for _, opts := range []EncodeOptions{{}, {NoSpecial: true}} {
				if got := tok.Decode(encode(t, tok, s, opts), false); got != want {
					t.Fatalf("%q comes back as %q", want, got)
				}
			}
		}
	})
}
