package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// These split patterns of the common families have scanners of their own. The pattern matcher takes
// about ten times as long for the same pieces.
const (
	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternTekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternGPT4o  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// A scanner returns the length of the piece at the start of s, which is not empty. The known
// patterns match at every position, so the pieces cover the text.
type scanner func(s string) int

func scannerFor(pattern string) scanner {
	switch pattern {
	case patternGPT2:
		return scanGPT2
	case patternLlama3:
		return func(s string) int { return scanWords(s, 3) }
	case patternQwen:
		return func(s string) int { return scanWords(s, 1) }
	case patternTekken:
		return func(s string) int { return scanCased(s, 1, false) }
	case patternGPT4o:
		return func(s string) int { return scanCased(s, 3, true) }
	}
	return nil
}

func scanGPT2(s string) int {
	if s[0] == '\'' {
		for _, suffix := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
			if strings.HasPrefix(s[1:], suffix) {
				return 1 + len(suffix)
			}
		}
	}
	c, n := classAt(s)
	switch c {
	case letter, number, other:
		return n + runOf(s[n:], c)
	}
	if s[0] == ' ' && len(s) > 1 {
		if c, n := classAt(s[1:]); c == letter || c == number || c == other {
			return 1 + n + runOf(s[1+n:], c)
		}
	}
	return spaceRun(s)
}

// scanWhitespace scans \w+|[^\w\s]+|\s+, which the pre-tokenizer Whitespace splits by.
func scanWhitespace(s string) int {
	kind := func(r rune) int {
		switch {
		case isWord(r):
			return 0
		case unicode.IsSpace(r):
			return 1
		}
		return 2
	}
	first, _ := utf8.DecodeRuneInString(s)
	if end := strings.IndexFunc(s, func(r rune) bool { return kind(r) != kind(first) }); end >= 0 {
		return end
	}
	return len(s)
}

// scanWords scans the pattern of Llama 3 and of Qwen. Llama 3 keeps up to three digits together,
// Qwen keeps each digit by itself.
func scanWords(s string, digits int) int {
	if s[0] == '\'' {
		if n := contraction(s[1:]); n > 0 {
			return 1 + n
		}
	}
	c, n := classAt(s)
	switch c {
	case letter:
		return n + runOf(s[n:], letter)
	case number:
		return scanDigits(s, digits)
	case other, space:
		if next, m := classAt(s[n:]); next == letter {
			return n + m + runOf(s[n+m:], letter)
		}
	}
	return scanRest(s, "\r\n")
}

// scanDigits returns the length of up to most digits at the start of s.
func scanDigits(s string, most int) (end int) {
	for range most {
		c, n := classAt(s[end:])
		if c != number {
			break
		}
		end += n
	}
	return end
}

// scanRest scans what no word and no digits begin: a space or none before other characters, which
// characters of after may follow, or else white space.
func scanRest(s, after string) int {
	punct := 0
	if s[0] == ' ' {
		punct = 1
	}
	if run := runOf(s[punct:], other); run > 0 {
		end := punct + run
		for end < len(s) && strings.IndexByte(after, s[end]) >= 0 {
			end++
		}
		return end
	}
	// White space: up to its last newline if it has one.
	run := whiteSpace(s)
	if i := strings.LastIndexAny(s[:run], "\r\n"); i >= 0 {
		return i + 1
	}
	return spaceRun(s)
}

// scanCased scans the patterns of Tekken and of gpt-oss, which cut words before capitals. Tekken
// keeps each digit by itself. gpt-oss keeps up to three together, and contractions with their word.
func scanCased(s string, digits int, contractions bool) int {
	c, n := classAt(s)
	if c == number {
		return scanDigits(s, digits)
	}
	end := 0
	if c == other || c == space {
		if word := lowerWord(s[n:]); word > 0 {
			end = n + word
		}
	}
	if end == 0 {
		end = lowerWord(s)
	}
	if end == 0 && (c == other || c == space) {
		if run, _ := upperRun(s[n:]); run > 0 {
			end = n + run
		}
	}
	if end == 0 {
		end, _ = upperRun(s)
	}
	if end == 0 {
		return scanRest(s, "\r\n/")
	}
	if contractions && end < len(s) && s[end] == '\'' {
		if n := contraction(s[end+1:]); n > 0 {
			end += 1 + n
		}
	}
	return end
}

// lowerWord matches [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ at the start of s.
// It returns 0 if nothing matches.
func lowerWord(s string) int {
	run, caseless := upperRun(s)
	if lower := lowerRun(s[run:]); lower > 0 {
		return run + lower
	}
	return caseless // the first set gives back its last characters to the second
}

// upperRun returns the length of the run of capitals and caseless characters at the start of s. It
// also returns the length up to the last caseless character of the run.
func upperRun(s string) (run, caseless int) {
	for i, r := range s {
		switch n := utf8.RuneLen(r); casingOf(r) {
		case capital:
			run = i + n
		case uncased:
			run, caseless = i+n, i+n
		default:
			return run, caseless
		}
	}
	return run, caseless
}

// lowerRun returns the length of the run of small letters and caseless characters at the start of
// s.
func lowerRun(s string) int {
	for i, r := range s {
		if c := casingOf(r); c != small && c != uncased {
			return i
		}
	}
	return len(s)
}

// A casing is what the patterns with capitals tell letters apart by.
type casing uint8

const (
	noWord  casing = iota // neither a letter nor a mark
	capital               // Lu, Lt
	small                 // Ll
	uncased               // Lm, Lo, M
)

func casingOf(r rune) casing {
	switch {
	case 'a' <= r && r <= 'z':
		return small
	case 'A' <= r && r <= 'Z':
		return capital
	case r < utf8.RuneSelf:
		return noWord
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return capital
	case unicode.Is(unicode.Ll, r):
		return small
	case isLetter(r), unicode.Is(unicode.M, r):
		return uncased
	}
	return noWord
}

// contraction returns the length of an English contraction after its apostrophe. Case folding makes
// the long s an s.
func contraction(s string) int {
	if s == "" {
		return 0
	}
	if strings.HasPrefix(s, "ſ") {
		return len("ſ")
	}
	switch s[0] | 0x20 {
	case 's', 't', 'm', 'd':
		return 1
	}
	if len(s) > 1 {
		switch string([]byte{s[0] | 0x20, s[1] | 0x20}) {
		case "re", "ve", "ll":
			return 2
		}
	}
	return 0
}

// classAt returns the class of the first character of s, and its length n. At the end of the text
// it returns newline, 0; no caller takes a run of newlines.
func classAt(s string) (c class, n int) {
	if s == "" {
		return newline, 0
	}
	if b := s[0]; b < utf8.RuneSelf {
		return asciiClass[b], 1
	}
	r, n := utf8.DecodeRuneInString(s)
	return slowClass(r), n
}

// runOf returns the length of the run of characters of class c at the start of s.
func runOf(s string, c class) int {
	for i, r := range s {
		if classOf(r) != c {
			return i
		}
	}
	return len(s)
}

// whiteSpace returns the length of the white space at the start of s, newlines included.
func whiteSpace(s string) int {
	for i, r := range s {
		if c := classOf(r); c != space && c != newline {
			return i
		}
	}
	return len(s)
}

// spaceRun matches \s+(?!\S)|\s+. It returns all the white space, without its last character if
// text follows. The text takes that character. A single character stays whole.
func spaceRun(s string) int {
	run := whiteSpace(s)
	if run == len(s) {
		return run
	}
	if _, last := utf8.DecodeLastRuneInString(s[:run]); last < run {
		return run - last
	}
	return run
}
