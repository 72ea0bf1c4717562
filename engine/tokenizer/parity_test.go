package tokenizer

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

// families are the recorded tokenizers, at least one for each form.
var families = []string{"qwen", "llama3", "tekken", "gpt2", "llama2", "gemma"}

// recording is what build/fixtures/tokenizer.py wrote about one tokenizer.
type recording struct {
	Header     header             `json:"header"`
	Tokenizer  json.RawMessage    `json:"tokenizer"`
	Size       int                `json:"size"`
	Prefix     []int32            `json:"prefix"`
	Suffix     []int32            `json:"suffix"`
	IDs        [][]int32          `json:"ids"`         // by string
	Decode     map[string]string  `json:"decode"`      // by string, if it differs from the string
	DecodeSkip map[string]string  `json:"decode_skip"` // without special tokens
	NoSpecial  map[string][]int32 `json:"no_special"`
	Random     []struct {
		IDs  []int32 `json:"ids"`
		Text string  `json:"text"`
	} `json:"random"`
}

type header struct {
	Versions map[string]string `json:"versions"`
	Command  string            `json:"command"`
	Input    string            `json:"input_sha256"`
}

func readFixture(t testing.TB, name string, v any) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

var fixtures struct {
	sync.Mutex
	recordings map[string]*recording
	strings    []string
}

// family returns a recording, its tokenizer as newly loaded, and the strings.
func family(t testing.TB, name string) (*recording, *Tokenizer, []string) {
	t.Helper()
	fixtures.Lock()
	defer fixtures.Unlock()
	if fixtures.strings == nil {
		var shared struct {
			Strings []string `json:"strings"`
		}
		readFixture(t, "strings", &shared)
		fixtures.strings = shared.Strings
		fixtures.recordings = map[string]*recording{}
	}
	r := fixtures.recordings[name]
	if r == nil {
		r = new(recording)
		readFixture(t, name, r)
		fixtures.recordings[name] = r
	}
	tok, err := Load(r.Tokenizer, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r, tok, fixtures.strings
}

func orElse(texts map[string]string, i int, text string) string {
	if t, ok := texts[strconv.Itoa(i)]; ok {
		return t
	}
	return text
}

func TestIDsAndTextEqualTheReference(t *testing.T) {
	for _, name := range families {
		t.Run(name, func(t *testing.T) {
			r, tok, strings := family(t, name)
			if len(strings) < 2000 || len(r.IDs) != len(strings) ||
				r.Header.Versions["tokenizers"] == "" {
				t.Fatalf("%d strings, %d encodings, versions %v",
					len(strings), len(r.IDs), r.Header.Versions)
			}
			if tok.Size() != r.Size {
				t.Errorf("Size = %d, want %d", tok.Size(), r.Size)
			}
			wrong := 0
			check := func(what, text string, got, want any, equal bool) {
				if equal {
					return
				}
				if wrong++; wrong <= 10 {
					t.Errorf("%s of %.200q:\n got %v\nwant %v", what, text, got, want)
				}
			}
			for i, s := range strings {
				want := r.IDs[i]
				// Twice: the second answer comes from the cache.
				for range 2 {
					got := encode(t, tok, s, EncodeOptions{})
					check("Encode", s, got, want, slices.Equal(got, want))
				}
				framed := slices.Concat(r.Prefix, want, r.Suffix)
				got := encode(t, tok, s, EncodeOptions{AddSpecial: true})
				check("Encode with AddSpecial", s, got, framed, slices.Equal(got, framed))

				plain := want
				if ids, ok := r.NoSpecial[strconv.Itoa(i)]; ok {
					plain = ids
				}
				got = encode(t, tok, s, EncodeOptions{NoSpecial: true})
				check("Encode with NoSpecial", s, got, plain, slices.Equal(got, plain))

				text := orElse(r.Decode, i, s)
				back := tok.Decode(want, false)
				check("Decode", s, back, text, back == text)
				text = orElse(r.DecodeSkip, i, s)
				back = tok.Decode(want, true)
				check("Decode without specials", s, back, text, back == text)
			}
			for _, c := range r.Random {
				back := tok.Decode(c.IDs, false)
				check("Decode", strconv.Quote(c.Text), back, c.Text, back == c.Text)
			}
			if wrong > 0 {
				t.Errorf("%d mismatches", wrong)
			}
		})
	}
}

// TestClassesEqualTheReference compares the class of every code point.
func TestClassesEqualTheReference(t *testing.T) {
	var f map[string]json.RawMessage
	readFixture(t, "classes", &f)
	want := map[rune]string{}
	for _, name := range []string{"letter", "number", "space"} {
		var ranges [][2]rune
		if err := json.Unmarshal(f[name], &ranges); err != nil {
			t.Fatal(err)
		}
		for _, r := range ranges {
			for c := r[0]; c <= r[1]; c++ {
				want[c] = name
			}
		}
	}
	names := map[class]string{letter: "letter", number: "number", newline: "space", space: "space",
		other: ""}
	for c := range rune(0x110000) {
		if utf8.ValidRune(c) && names[classOf(c)] != want[c] {
			t.Errorf("%U is of class %q, want %q", c, names[classOf(c)], want[c])
		}
	}
}

// TestSetsOfCharactersEqualTheReference compares what stages ask of every code point.
func TestSetsOfCharactersEqualTheReference(t *testing.T) {
	var f map[string]json.RawMessage
	readFixture(t, "classes", &f)
	has := map[string]func(rune) bool{"punctuation": isPunctuation, "accent": isAccent,
		"word": isWord}
	for name, tables := range posixClasses {
		has["[:"+name+":]"] = func(r rune) bool { return unicode.In(r, tables...) }
	}
	for name, has := range has {
		var want runeSet
		if err := json.Unmarshal(f[name], &want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got runeSet
		for c := range rune(0x110000) {
			if utf8.ValidRune(c) && has(c) {
				got = append(got, [2]rune{c, c})
			}
		}
		if got = got.normal(); !slices.Equal(got, want) {
			t.Errorf("%s: %d ranges, want %d: %X", name, len(got), len(want), got)
		}
	}
}

// TestNormalFormsEqualTheReference compares the normal forms of every code point by itself.
func TestNormalFormsEqualTheReference(t *testing.T) {
	var f struct {
		Normalized map[string][]string `json:"normalized"`
	}
	readFixture(t, "classes", &f)
	const block = 4096 // characters of one hash
	var chars []string
	for c := range rune(0x110000) {
		if utf8.ValidRune(c) {
			chars = append(chars, string(c))
		}
	}
	if len(f.Normalized) != 5 {
		t.Fatalf("%d normal forms are recorded", len(f.Normalized))
	}
	for name, want := range f.Normalized {
		stages, err := parseNormalizer([]byte(`{"type":"` + name + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for part := range slices.Chunk(chars, block) {
			forms := make([]string, len(part))
			for k, c := range part {
				forms[k] = stages[0].normalize(piece{text: c}).text
			}
			sum := sha256.Sum256([]byte(strings.Join(forms, "\x00")))
			if got := hex.EncodeToString(sum[:8]); got != want[i] {
				t.Errorf("%s: characters %d to %d have other forms", name, i*block, (i+1)*block)
			}
			i++
		}
	}
}

func TestComponentsEqualTheReference(t *testing.T) {
	var f struct {
		Models     []json.RawMessage `json:"models"`
		Components []struct {
			Name      string                     `json:"name"`
			Model     int                        `json:"model"`
			Tokenizer map[string]json.RawMessage `json:"tokenizer"`
			Cases     []struct {
				Text    string  `json:"text"`
				IDs     []int32 `json:"ids"`
				Special []int32 `json:"special"`
				Decode  string  `json:"decode"`
			} `json:"cases"`
		} `json:"components"`
	}
	readFixture(t, "components", &f)
	for _, c := range f.Components {
		t.Run(c.Name, func(t *testing.T) {
			c.Tokenizer["model"] = f.Models[c.Model]
			data, err := json.Marshal(c.Tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Load(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range c.Cases {
				if got := encode(t, tok, e.Text, EncodeOptions{}); !slices.Equal(got, e.IDs) {
					t.Errorf("Encode(%q)\n got %q\nwant %q",
						e.Text, spell(tok, got), spell(tok, e.IDs))
				}
				if got := encode(t, tok, e.Text,
					EncodeOptions{AddSpecial: true}); !slices.Equal(got, e.Special) {
					t.Errorf("Encode(%q) with AddSpecial\n got %q\nwant %q",
						e.Text, spell(tok, got), spell(tok, e.Special))
				}
				if got := tok.Decode(e.IDs, false); got != e.Decode {
					t.Errorf("Decode of %q\n got %q\nwant %q", spell(tok, e.IDs), got, e.Decode)
				}
			}
		})
	}
}

func spell(tok *Tokenizer, ids []int32) []string {
	var out []string
	for _, id := range ids {
		out = append(out, tok.Token(id))
	}
	return out
}
