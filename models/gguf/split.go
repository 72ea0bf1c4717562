package gguf

// byteLevel is the last part of a byte-level pre-tokenizer that has split a text before.
const byteLevel = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,` +
	`"use_regex":false}`

// gpt2Split splits as GPT-2 does.
const gpt2Split = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,` +
	`"use_regex":true}`

const byteLevelDecoder = `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,` +
	`"use_regex":true}`

// digitsSplit takes single digits, then splits as GPT-2 does.
const digitsSplit = `{"type":"Sequence","pretokenizers":[` +
	`{"type":"Digits","individual_digits":true},` + gpt2Split + `]}`

// byteLevelForms holds the splits of tokenizers of the kind gpt2, by their tokenizer.ggml.pre.
var byteLevelForms = map[string]tokenizerForm{
	"gpt-2":  {preTokenizer: gpt2Split, decoder: byteLevelDecoder},
	"smollm": {preTokenizer: digitsSplit, decoder: byteLevelDecoder},
}
