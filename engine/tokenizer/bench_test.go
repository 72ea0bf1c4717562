package tokenizer

import (
	"strings"
	"testing"
)

// BenchmarkEncode encodes all the recorded strings, with a warm cache.
func BenchmarkEncode(b *testing.B) {
	for _, name := range families {
		b.Run(name, func(b *testing.B) {
			_, tok, texts := family(b, name)
			size := 0
			for _, s := range texts {
				size += len(s)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, s := range texts {
					encode(b, tok, s, EncodeOptions{})
				}
			}
		})
	}
}

// BenchmarkSplit cuts the recorded strings by a pattern that has no scanner.
func BenchmarkSplit(b *testing.B) {
	_, _, texts := family(b, "qwen")
	text := strings.Join(texts, "\n")
	m, err := newRegexMatcher("bench", strings.Replace(patternQwen, `\p{N}`, `\p{N}{1,2}`, 1))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.spans(text, newMeter(text))
	}
}

// BenchmarkEncodeOneWord encodes 2 MB without a word boundary.
func BenchmarkEncodeOneWord(b *testing.B) {
	text := strings.Repeat("abcdefghijklmnopqrst", 100_000)
	for _, name := range families {
		b.Run(name, func(b *testing.B) {
			_, tok, _ := family(b, name)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				encode(b, tok, text, EncodeOptions{})
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range families {
		b.Run(name, func(b *testing.B) {
			r, tok, _ := family(b, name)
			for b.Loop() {
				for _, ids := range r.IDs {
					tok.Decode(ids, false)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	r, _, _ := family(b, "llama3")
	b.SetBytes(int64(len(r.Tokenizer)))
	for b.Loop() {
		if _, err := Load(r.Tokenizer, nil); err != nil {
			b.Fatal(err)
		}
	}
}
