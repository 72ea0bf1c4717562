package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tiny returns a tokenizer.json with a few byte-level tokens. parts replaces or adds fields, given
// as JSON.
func tiny(parts map[string]string) []byte {
	fields := map[string]json.RawMessage{
		"version": json.RawMessage(`"1.0"`),
		"model": json.RawMessage(`{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,` +
			`"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,` +
			`"vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"Ġa":4,"<s>":5},"merges":[["a","b"],["Ġ","a"]]}`),
		"pre_tokenizer": json.RawMessage(`{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`),
		"decoder":       json.RawMessage(`{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`),
	}
	for name, part := range parts {
		fields[name] = json.RawMessage(part)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return data
}

func model(options string) string {
	return `{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]` + options + `}`
}

func splitJSON(pattern string) string {
	p, _ := json.Marshal(pattern)
	return `{"type":"Split","pattern":{"Regex":` + string(p) +
		`},"behavior":"Isolated","invert":false}`
}

func TestLoadNamesWhatItRefuses(t *testing.T) {
	nested := strings.Repeat(`{"type":"Sequence","normalizers":[`, 40) + `{"type":"NFC"}` +
		strings.Repeat(`]}`, 40)
	for _, c := range []struct {
		part, json string
		code       Code
		want       string // in the message
	}{
		{"version", `"2.0"`, CodeUnsupported, "version 2.0"},
		{"new_part", `{}`, CodeInvalid, "new_part"},

		{"model", `null`, CodeInvalid, "model"},
		{"model", `{"type":"Unigram","unk_id":0,"vocab":[["a",-1]]}`, CodeUnsupported, "Unigram"},
		{"model", `{"type":"WordPiece","vocab":{"a":0},"unk_token":"a"}`, CodeUnsupported, "WordPiece"},
		{"model", `{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}`, CodeUnsupported, "WordLevel"},
		{"model", `{"vocab":{"a":0}}`, CodeUnsupported, "without a type"},
		{"model", model(`,"dropout":0.1`), CodeUnsupported, "dropout"},
		{"model", model(`,"continuing_subword_prefix":"##"`), CodeUnsupported, "continuing_subword_prefix"},
		{"model", model(`,"end_of_word_suffix":"</w>"`), CodeUnsupported, "end_of_word_suffix"},
		{"model", model(`,"unk_token":"<unk>"`), CodeInvalid, "<unk>"},
		{"model", `{"type":"BPE","vocab":{},"merges":[]}`, CodeInvalid, "empty"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}`, CodeInvalid, "same id"},
		{"model", `{"type":"BPE","vocab":{"a":-1},"merges":[]}`, CodeInvalid, "-1"},
		{"model", `{"type":"BPE","vocab":{"a":99999999},"merges":[]}`, CodeInvalid, "99999999"},
		{"model", `{"type":"BPE","vocab":{"a":0.5},"merges":[]}`, CodeInvalid, "0.5"},
		{"model", `{"type":"BPE","vocab":["a"],"merges":[]}`, CodeInvalid, "vocab"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}`, CodeInvalid, "not in the vocabulary"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b c"]}`, CodeInvalid, "a b c"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1},"merges":["ab"]}`, CodeInvalid, "ab"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b","c"]]}`, CodeInvalid, "two tokens"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1},"merges":[[["a"],"b"]]}`, CodeInvalid, "two tokens"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1},"merges":{"a":"b"}}`, CodeInvalid, "list"},
		{"model", `{"type":"BPE","vocab":{"a":{}},"merges":[]}`, CodeInvalid, "id {"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a"]]}`, CodeInvalid, "two tokens"},

		{"normalizer", `{"type":"Precompiled","precompiled_charsmap":""}`, CodeUnsupported, "Precompiled"},
		{"normalizer", `{"type":"BertNormalizer","lowercase":true}`, CodeUnsupported, "BertNormalizer"},
		{"normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Nmt"}]}`, CodeUnsupported, "Nmt"},
		{"normalizer", `{"type":"Replace","pattern":{"Regex":"(a+)+"},"content":"b"}`, CodeUnsupported, "a group that repeats"},
		{"normalizer", `{"type":"Replace","pattern":{"Regex":""},"content":"b"}`, CodeInvalid, "empty"},
		{"normalizer", `{"type":"Replace","pattern":{"Regex":"a"},"content":"` + strings.Repeat("b", 64) + `"}`, CodeTooLarge, "64 times"},
		{"normalizer", `{"lowercase":true}`, CodeUnsupported, "without a type"},
		{"normalizer", `{"type":"Replace","pattern":{"String":""},"content":"b"}`, CodeInvalid, "empty"},
		{"normalizer", `{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", 100) + `"}`, CodeTooLarge, "64 times"},
		{"normalizer", `{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"aa"},`, 20) + `{"type":"NFC"}]}`, CodeTooLarge, "64 times"},
		{"normalizer", `{"type":"Prepend","prepend":"` + strings.Repeat("a", 100) + `"}`, CodeInvalid, "64 bytes"},
		{"normalizer", nested, CodeTooLarge, "sequences"},

		{"pre_tokenizer", `{"type":"Split","pattern":{"String":"a"},"behavior":"Merged","invert":false}`, CodeUnsupported, "Merged"},
		{"pre_tokenizer", `{"type":"Split","pattern":{"String":""},"behavior":"Isolated","invert":false}`, CodeInvalid, "empty"},
		{"pre_tokenizer", `{"type":"Metaspace","replacement":"__","prepend_scheme":"always"}`, CodeInvalid, "one character"},
		{"pre_tokenizer", `{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}`, CodeUnsupported, "last"},
		{"pre_tokenizer", `{"type":"Metaspace","replacement":"_","prepend_scheme":"always","add_prefix_space":false}`, CodeInvalid, "add_prefix_space"},
		{"pre_tokenizer", splitJSON(`\w+`), CodeUnsupported, `\w`},
		{"pre_tokenizer", splitJSON(`\bfoo`), CodeUnsupported, `\b`},
		{"pre_tokenizer", splitJSON(`^a|b$`), CodeUnsupported, "anchor"},
		{"pre_tokenizer", `{"type":"UnicodeScripts"}`, CodeUnsupported, "UnicodeScripts"},
		{"pre_tokenizer", `{"type":"Punctuation","behavior":"Merged"}`, CodeUnsupported, "Merged"},
		{"pre_tokenizer", `{"type":"CharDelimiterSplit","delimiter":"--"}`, CodeInvalid, "one character"},
		{"pre_tokenizer", `{"type":"FixedLength","length":0}`, CodeInvalid, "length 0"},
		{"pre_tokenizer", splitJSON(`[[:alpha:]]`), CodeUnsupported, "[:alpha:]"},
		{"pre_tokenizer", splitJSON(`[a-[b]]`), CodeUnsupported, "hyphen"},
		{"pre_tokenizer", splitJSON(`[[a]-z]`), CodeUnsupported, "hyphen"},
		{"pre_tokenizer", splitJSON(`[a&&]`), CodeUnsupported, "an empty part of a set"},
		{"pre_tokenizer", splitJSON(`[a[]b]`), CodeUnsupported, "an empty part of a set"},
		{"pre_tokenizer", splitJSON(`[a[b]`), CodeUnsupported, "a set without an end"},
		{"pre_tokenizer", splitJSON(`[a[\p{Nonsense}]]`), CodeUnsupported, "Nonsense"},
		{"pre_tokenizer", splitJSON(strings.Repeat("[a", 40) + strings.Repeat("]", 40)), CodeUnsupported, "deep within each other"},
		{"pre_tokenizer", splitJSON(`[]a]`), CodeUnsupported, "opens a set"},
		{"pre_tokenizer", splitJSON(`a++b`), CodeUnsupported, "a++b"},
		{"pre_tokenizer", splitJSON(`a{,3}`), CodeUnsupported, "{,n}"},
		{"pre_tokenizer", splitJSON(`(?m:a.b)`), CodeUnsupported, "(?m:"},
		{"pre_tokenizer", splitJSON(`(a`), CodeUnsupported, "(a"},
		{"pre_tokenizer", splitJSON(`(a|aa)+b|c`), CodeUnsupported, "a group that repeats"},
		{"pre_tokenizer", splitJSON(`(?:a+)*b`), CodeUnsupported, "a group that repeats"},
		{"pre_tokenizer", splitJSON(`(?:a|aa){2,}b`), CodeUnsupported, "a group that repeats"},
		{"pre_tokenizer", splitJSON(`x|a*a*a+b`), CodeUnsupported, "more than two unbounded quantifiers"},
		{"pre_tokenizer", splitJSON(`x|(?:a+|b)(?:a*|c)a{2,}`), CodeUnsupported, "more than two unbounded quantifiers"},
		{"pre_tokenizer", splitJSON(`\p{Nonsense}`), CodeUnsupported, "Nonsense"},
		{"pre_tokenizer", splitJSON(strings.Repeat("a", 10_000)), CodeTooLarge, "10000"},

		{"decoder", `{"type":"WordPiece","prefix":"##","cleanup":true}`, CodeUnsupported, "WordPiece"},
		{"decoder", `{"type":"BPEDecoder","suffix":"</w>"}`, CodeUnsupported, "BPEDecoder"},
		{"decoder", `{"type":"CTC"}`, CodeUnsupported, "CTC"},
		{"decoder", `{"type":"Strip","content":" ","start":1,"stop":1}`, CodeUnsupported, "stop"},
		{"decoder", `{"type":"Strip","content":" ","start":1000,"stop":0}`, CodeTooLarge, "1000"},
		{"decoder", `{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"ByteFallback"}]}`, CodeUnsupported, "ByteFallback after"},
		{"decoder", `{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"ab"},"content":""}]}`, CodeUnsupported, "several characters"},

		{"post_processor", `{"type":"RobertaProcessing","sep":["</s>"],"cls":["<s>",0]}`, CodeInvalid, "cls or sep"},
		{"post_processor", `{"type":"BertProcessing","sep":["</s>",99],"cls":["<s>",0]}`, CodeInvalid, "99"},
		{"post_processor", bosTemplate(99), CodeInvalid, "99"},
		{"post_processor", `{"type":"Sequence","processors":[` + bosTemplate(5) + `,` + bosTemplate(5) + `]}`, CodeUnsupported, "second template"},
		{"post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}}],"pair":[],"special_tokens":{}}`, CodeInvalid, "<s>"},
		{"post_processor", `{"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}}`, CodeUnsupported, "$A"},

		{"added_tokens", `{"id":0}`, CodeInvalid, "added_tokens"},
		{"added_tokens", `[{"id":0,"content":"zz"}]`, CodeInvalid, "same id 0"},
		{"added_tokens", `[{"id":9,"content":"a"}]`, CodeInvalid, `"a" has the id 9`},
		{"added_tokens", `[{"id":-4,"content":"zz"}]`, CodeInvalid, "-4"},
		{"added_tokens", `[{"id":9,"content":"` + strings.Repeat("z", 1000) + `"}]`, CodeTooLarge, "1000 bytes"},
		{"added_tokens", `[{"id":6,"content":"zz"},{"id":6,"content":"zz"}]`, CodeInvalid, "zz"},
	} {
		t.Run(fmt.Sprintf("%s %.60s", c.part, c.json), func(t *testing.T) {
			_, err := Load(tiny(map[string]string{c.part: c.json}), nil)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code != c.code || !strings.Contains(e.Error(), c.want) {
				t.Errorf("got %v, want a %s that names %s", err, c.code, c.want)
			}
		})
	}
}

func bosTemplate(id int) string {
	return fmt.Sprintf(`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],`+
		`"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[%d],"tokens":["<s>"]}}}`, id)
}

func TestLoadRefusesBrokenFiles(t *testing.T) {
	good := tiny(nil)
	for _, c := range []struct {
		name         string
		data, config string
		code         Code
	}{
		{"empty", "", "", CodeInvalid},
		{"cut short", string(good[:len(good)/2]), "", CodeInvalid},
		{"text after it", string(good) + "x", "", CodeInvalid},
		{"not UTF-8", strings.Replace(string(good), `"b"`, "\"\xff\"", 1), "", CodeInvalid},
		{"a list", "[]", "", CodeInvalid},
		{"too large", strings.Repeat(" ", maxFileBytes+1), "", CodeTooLarge},
		{"config is no JSON", string(good), "{", CodeInvalid},
		{"config too large", string(good), strings.Repeat(" ", maxFileBytes+1), CodeTooLarge},
		{"BOS wanted, not named", string(good), `{"add_bos_token":true}`, CodeInvalid},
		{"EOS wanted, not there", string(good), `{"add_eos_token":true,"eos_token":"</s>"}`, CodeInvalid},
		{"added token without an id", string(good), `{"added_tokens_decoder":{"x":{"content":"zz"}}}`, CodeInvalid},
		{"added token that clashes", string(good), `{"added_tokens_decoder":{"0":{"content":"zz"}}}`, CodeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load([]byte(c.data), []byte(c.config))
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != c.code {
				t.Errorf("got %v, want a %s", err, c.code)
			}
		})
	}
}

func TestConfigSetsBOSAndEOS(t *testing.T) {
	special := `[{"id":5,"content":"<s>","special":true},{"id":8,"content":"</s>","special":true}]`
	for _, c := range []struct {
		name, config string
		template     string
		want         []int32 // of "ab" with AddSpecial
		bos, eos     int32   // -1: none
	}{
		{"no config", "", `null`, []int32{2}, -1, -1},
		{"template", "", bosTemplate(5), []int32{5, 2}, 5, -1},
		{"names", `{"bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false}}`, `null`, []int32{2}, 5, 8},
		{"null names", `{"bos_token":null,"eos_token":null,"add_bos_token":false}`, bosTemplate(5), []int32{2}, 5, -1},
		{"unknown name", `{"eos_token":"<eos>"}`, `null`, []int32{2}, -1, -1},
		{"BOS off", `{"bos_token":"<s>","add_bos_token":false}`, bosTemplate(5), []int32{2}, 5, -1},
		{"BOS on", `{"bos_token":"<s>","add_bos_token":true}`, `null`, []int32{5, 2}, 5, -1},
		{"BOS once", `{"bos_token":"<s>","add_bos_token":true}`, bosTemplate(5), []int32{5, 2}, 5, -1},
		{"EOS on", `{"eos_token":"</s>","add_eos_token":true}`, bosTemplate(5), []int32{5, 2, 8}, 5, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, err := Load(tiny(map[string]string{"added_tokens": special,
				"post_processor": c.template}), []byte(c.config))
			if err != nil {
				t.Fatal(err)
			}
			if got := encode(t, tok, "ab", EncodeOptions{AddSpecial: true}); !slices.Equal(got,
				c.want) {
				t.Errorf("ids %v, want %v", got, c.want)
			}
			bos, ok := tok.BOS()
			if ok != (c.bos >= 0) || ok && bos != c.bos {
				t.Errorf("BOS %d %v, want %d", bos, ok, c.bos)
			}
			eos, ok := tok.EOS()
			if ok != (c.eos >= 0) || ok && eos != c.eos {
				t.Errorf("EOS %d %v, want %d", eos, ok, c.eos)
			}
		})
	}
}

func TestConfigAddsTokens(t *testing.T) {
	tok, err := Load(tiny(nil),
		[]byte(`{"added_tokens_decoder":{"7":{"content":"<x>","special":true},"5":{"content":"<s>","special":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encode(t, tok, "a<x>b<s>", EncodeOptions{}),
		[]int32{0, 7, 1, 5}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if !tok.IsSpecial(7) || !tok.IsSpecial(5) || tok.IsSpecial(6) || tok.Size() != 8 {
		t.Errorf("special %v %v %v, size %d",
			tok.IsSpecial(7), tok.IsSpecial(5), tok.IsSpecial(6), tok.Size())
	}
}

// The limits on a pattern's form leave room for the published patterns.
func TestPublishedPatternsAreAccepted(t *testing.T) {
	for _, pattern := range []string{
		patternGPT2, patternLlama3, patternQwen, patternTekken, patternGPT4o,
		`(?<=[a-z])(?=[A-Z])`,
		`[*+{(|)]+\*\+\(`,
	} {
		if _, err := newRegexMatcher("test", pattern); err != nil {
			t.Error(err)
		}
	}
}

// TestTemplateIsBoundedWhileItIsRead multiplies parts by ids: each is allowed, their product is not.
func TestTemplateIsBoundedWhileItIsRead(t *testing.T) {
	special := `{"SpecialToken":{"id":"<s>","type_id":0}}`
	text := `{"Sequence":{"id":"A","type_id":0}}`
	ids := strings.Repeat("5,", 30_000) + "5"
	many := strings.Repeat(special+",", 30_000)
	for _, c := range []struct{ name, single, ids string }{
		{"before the text", many + text, ids},
		{"after the text", text + "," + many + special, ids},
		{"one id", many + text, "5"},
		{"one part", special + "," + text, ids},
	} {
		processor := `{"type":"TemplateProcessing","single":[` + c.single + `],"pair":[],` +
			`"special_tokens":{"<s>":{"id":"<s>","ids":[` + c.ids + `],"tokens":["<s>"]}}}`
		for _, p := range []string{processor, `{"type":"Sequence","processors":[` + processor + `]}`} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Load(tiny(map[string]string{"post_processor": p}), nil)
			runtime.ReadMemStats(&after)
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeTooLarge {
				t.Errorf("%s: got %v, want a refusal", c.name, err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
				t.Errorf("%s: %d MiB were used", c.name, used>>20)
			}
		}
	}
}

// TestAddedTokensAreBoundedTogether lists tokens that are short enough each.
func TestAddedTokensAreBoundedTogether(t *testing.T) {
	var list []string
	for i := range maxAddedNodes / 500 * 2 {
		list = append(list, fmt.Sprintf(`{"id":%d,"content":"%08d%s"}`, 6+i, i,
			strings.Repeat("z", 490)))
	}
	_, err := Load(tiny(map[string]string{"added_tokens": "[" + strings.Join(list, ",") + "]"}), nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeTooLarge {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestStagesTogetherAreBounded runs stages that each make a text a little longer.
func TestStagesTogetherAreBounded(t *testing.T) {
	repeat := func(list, stage string) string {
		return `{"type":"Sequence","` + list + `":[` + strings.Repeat(stage+",", 19) + stage + `]}`
	}
	for name, parts := range map[string]map[string]string{
		"byte level":            {"pre_tokenizer": repeat("pretokenizers", `{"type":"ByteLevel","add_prefix_space":true,"use_regex":false}`)},
		"normalizer byte level": {"normalizer": repeat("normalizers", `{"type":"ByteLevel"}`)},
		"regex replace":         {"normalizer": repeat("normalizers", `{"type":"Replace","pattern":{"Regex":"a"},"content":"aaa"}`)},
		"prepend": {"normalizer": repeat("normalizers", `{"type":"Prepend","prepend":"`+strings.Repeat("a", 60)+`"}`),
			"added_tokens": `[{"id":6,"content":"-"}]`},
	} {
		tok, err := Load(tiny(parts), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err = tok.Encode(strings.Repeat("a-é", 2_000), EncodeOptions{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeTooLarge {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}
