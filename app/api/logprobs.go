package api

import (
	"fmt"
	"unicode/utf8"

	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// AppendLogprobs appends the tokens as a JSON list.
func AppendLogprobs(dst []byte, tk model.Tokenizer, toks []engine.Token) []byte {
	dst = append(dst, '[')
	n := 0
	for _, t := range toks {
		if t.Logprobs == nil {
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = appendTokenLogprob(dst, tk, t.ID, t.Logprobs.Logprob)
		dst = append(dst, `,"top_logprobs":[`...)
		for i, top := range t.Logprobs.Top {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendTokenLogprob(dst, tk, top.ID, top.Logprob), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

// appendTokenLogprob appends a token's object without its closing brace.
func appendTokenLogprob(dst []byte, tk model.Tokenizer, id int32, logprob float32) []byte {
	b := tk.TokenBytes(id)
	dst = wire.AppendString(append(dst, `{"token":`...), string(b))
	dst = wire.AppendLogprob(append(dst, `,"logprob":`...), logprob)
	return wire.AppendInts(append(dst, `,"bytes":`...), b)
}

// LegacyToken names a token that is part of a rune by its bytes, as OpenAI's older API does.
func LegacyToken(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	s := "bytes:"
	for _, c := range b {
		s += fmt.Sprintf(`\x%02x`, c)
	}
	return s
}
