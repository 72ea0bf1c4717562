// Package tokenizer reads a model's tokenizer.json, and turns text into token ids and back exactly
// as the Python package tokenizers does.
//
// It covers byte pair encoding in its two forms: byte-level (GPT-2, Llama 3, Qwen), and
// SentencePiece-style with byte fallback (Llama 2, Gemma). Encode has these stages:
//
//	added tokens -> normalizer -> normalized added tokens -> pre-tokenizer -> BPE -> post-processor
//
// Decode runs the stages of the decoder over the spellings of the tokens. Load refuses a component,
// a value or a pattern that it does not know, and names it. A tokenizer that is only nearly right
// would spoil every answer without a sign. Members of a component that the reference passes over
// are passed over here.
//
// A Tokenizer is safe for concurrent use: it is immutable except for its word cache, which has its
// own locks. A Stream belongs to one goroutine.
//
// This package differs from the reference here:
//
//   - Encode first turns each run of invalid UTF-8 into one U+FFFD.
//   - Byte tokens (<0xE5>) that form no UTF-8 become one U+FFFD per ill-formed byte. The reference
//     replaces a whole run of byte tokens if any part of it is ill-formed. It loses the well-formed
//     characters too. A stream would have to hold back every newline to do that.
//   - Truncation and padding settings are ignored: they belong to training.
//   - add_bos_token and add_eos_token of tokenizer_config.json override the post-processor.
//   - Load refuses a split pattern whose form invites exponential time. The others run with a time
//     limit, and past it Encode fails (see pattern.go). So a text has the same ids every time, or
//     none.
//   - Stages may make a text at most 64 times longer together. Past that, Encode fails.
//
// Character classes and normalization follow the Unicode versions of the reference (see unicode.go
// and unicode_versions.go). Sets within sets, which the pattern matcher lacks, are rewritten (see
// sets.go). The pattern matcher is dlclark/regexp2. The families' split patterns use look-ahead,
// which the standard library lacks. Canonical decomposition comes from golang.org/x/text.
package tokenizer
