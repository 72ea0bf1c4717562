package gguf

import "slices"

// Splits of byte-level tokenizers, as their makers' tokenizer.json has them.
const (
	llama3Split = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|` +
		` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Split = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|` +
		` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen35Split = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|` +
		` ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekkenSplit = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|` +
		`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gpt4oSplit = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` +
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` +
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	seedCoderSplit = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	miniCPM5Split = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|` +
		` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gpt2Split = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// defaultSplits are llama.cpp's splits for a tokenizer that its converter did not know.
var defaultSplits = []string{`[\p{P}\$\+<=>\^~\|]+`, gpt2Split, `\p{N}+`, `[0-9][0-9][0-9]`}

// hanSplit has the letters that DeepSeek's first tokenizers keep together without a space before them.
const hanSplit = `[一-龥ࠀ-一가-퟿]+`

var (
	deepSeekCoderSplits = []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, hanSplit, `\p{N}`}
	deepSeekLLMSplits   = []string{`[\r\n]`, `\s?[` + casedLetters + `]+`,
		`\s?[!-/:-~！-／：-～‘-‟　-。]+`, `\s+(?![\s\S])`, hanSplit, `\p{N}`}
)

// casedLetters are the letters of scripts with capitals, as DeepSeek LLM's makers list them.
const casedLetters = "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅ" +
	"ὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ" +
	"-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"

// byteLevelParts returns the form of tokenizers of the kind gpt2 with the given
// tokenizer.ggml.pre.
func byteLevelParts(pre string) (tokenizerParts, bool) {
	for _, f := range byteLevelSplits {
		if slices.Contains(f.pre, pre) {
			return tokenizerParts{
				normalizer: f.normalizer, preTokenizer: byteLevel(f.splits...),
				decoder:      byteLevelDecoder,
				ignoreMerges: f.ignoreMerges, addBOS: f.addBOS,
			}, true
		}
	}
	return tokenizerParts{}, false
}

// byteLevelSplits holds what follows from tokenizer.ggml.pre, for the names that models of the
// supported architectures have. Phi-4 has dbrx.
var byteLevelSplits = []struct {
	pre                  []string
	normalizer           component
	splits               []string
	ignoreMerges, addBOS bool
}{
	{pre: []string{"llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "lfm2"},
		splits: []string{llama3Split}, ignoreMerges: true, addBOS: true},
	{pre: []string{"chatglm-bpe", "dbrx", "glm4", "smaug-bpe"}, splits: []string{llama3Split}},
	{pre: []string{"qwen2"}, splits: []string{qwen2Split}, normalizer: component{"type": "NFC"}},
	{pre: []string{"qwen35"}, splits: []string{qwen35Split}, normalizer: component{"type": "NFC"}},
	{pre: []string{"deepseek-r1-qwen"}, splits: []string{qwen2Split}},
	{pre: []string{"tekken"}, splits: []string{tekkenSplit}, ignoreMerges: true, addBOS: true},
	{pre: []string{"gpt-4o", "llama4"}, splits: []string{gpt4oSplit}},
	{pre: []string{"minicpm5"}, splits: []string{`\p{N}{1,3}`, miniCPM5Split}, ignoreMerges: true},
	{pre: []string{"seed-coder"}, splits: []string{seedCoderSplit}},
	{pre: []string{"deepseek-coder"}, splits: deepSeekCoderSplits},
	{pre: []string{"deepseek-llm"}, splits: deepSeekLLMSplits},
	{pre: []string{"falcon"}, splits: []string{"[\\p{P}\\$\\+<=>\\^~\\|`]+", gpt2Split, `[0-9][0-9][0-9]`}},
	{pre: []string{"codeshell", "command-r", "exaone", "minerva-7b", "refact", "smollm", "starcoder"},
		splits: []string{`\p{N}`, gpt2Split}},
	{pre: []string{"gpt-2", "jais", "mpt", "olmo", "trillion"}, splits: []string{gpt2Split}},
	{pre: []string{"", "default"}, splits: defaultSplits},
}

var byteLevelDecoder = component{"type": "ByteLevel", "add_prefix_space": true,
	"trim_offsets": true, "use_regex": true}

// A component is a part of tokenizer.json.
type component map[string]any

// byteLevel returns a pre-tokenizer that splits a text and then takes its bytes.
func byteLevel(splits ...string) component {
	var parts []component
	for _, s := range splits {
		parts = append(parts, component{"type": "Split", "pattern": component{"Regex": s},
			"behavior": "Isolated", "invert": false})
	}
	parts = append(parts, component{"type": "ByteLevel", "add_prefix_space": false,
		"trim_offsets": true, "use_regex": false})
	return component{"type": "Sequence", "pretokenizers": parts}
}

// spaceMark replaces a space in the tokens of SentencePiece.
const spaceMark = "▁"

// sentencePieceParts returns the form of SentencePiece's tokenizers: spaces become marks, and a
// character without a token becomes bytes. prefix: a space is added at the beginning of a text.
func sentencePieceParts(prefix bool) tokenizerParts {
	space := component{"type": "Replace", "pattern": component{"String": " "}, "content": spaceMark}
	decoders := []component{
		{"type": "Replace", "pattern": component{"String": spaceMark}, "content": " "},
		{"type": "ByteFallback"}, {"type": "Fuse"},
	}
	f := tokenizerParts{normalizer: space, addBOS: true, byteFallback: true}
	if prefix {
		f.normalizer = component{"type": "Sequence", "normalizers": []component{
			{"type": "Prepend", "prepend": spaceMark}, space}}
		decoders = append(decoders,
			component{"type": "Strip", "content": " ", "start": 1, "stop": 0})
	}
	f.decoder = component{"type": "Sequence", "decoders": decoders}
	return f
}
