package openai

import (
	"strconv"
	"unicode/utf8"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// appendLegacyLogprobs appends the value of a completion choice's logprobs: four parallel lists.
// runes is the number of runes before the first token in the choice's text. It returns that number
// after the last token. The alternatives of a token include the token itself, so that its own value
// is never missing.
func appendLegacyLogprobs(dst []byte, tk model.Tokenizer, toks []engine.Token,
	runes int) ([]byte, int) {
	list := func(name string, item func(engine.Token)) {
		dst = append(dst, name...)
		dst = append(dst, ":["...)
		for i, t := range toks {
			if i > 0 {
				dst = append(dst, ',')
			}
			item(t)
		}
		dst = append(dst, ']')
	}
	list(`{"tokens"`, func(t engine.Token) { dst = wire.AppendString(dst, api.LegacyToken(tk.TokenBytes(t.ID))) })
	list(`,"token_logprobs"`, func(t engine.Token) {
		if t.Logprobs == nil { // the prompt's first token has no predecessor
			dst = append(dst, "null"...)
			return
		}
		dst = wire.AppendLogprob(dst, t.Logprobs.Logprob)
	})
	list(`,"top_logprobs"`, func(t engine.Token) { dst = appendLegacyTop(dst, tk, t) })
	list(`,"text_offset"`, func(t engine.Token) {
		dst = strconv.AppendInt(dst, int64(max(0, runes)), 10)
		for _, c := range tk.TokenBytes(t.ID) {
			if utf8.RuneStart(c) {
				runes++
			}
		}
	})
	return append(dst, '}'), runes
}

func appendLegacyTop(dst []byte, tk model.Tokenizer, t engine.Token) []byte {
	if t.Logprobs == nil {
		return append(dst, "null"...)
	}
	// An object's names must differ, but two ids may have the same text.
	own := api.LegacyToken(tk.TokenBytes(t.ID))
	seen := map[string]bool{own: true}
	dst = wire.AppendString(append(dst, '{'), own)
	dst = wire.AppendLogprob(append(dst, ':'), t.Logprobs.Logprob)
	for _, top := range t.Logprobs.Top {
		name := api.LegacyToken(tk.TokenBytes(top.ID))
		if seen[name] {
			continue
		}
		seen[name] = true
		dst = wire.AppendString(append(dst, ','), name)
		dst = wire.AppendLogprob(append(dst, ':'), top.Logprob)
	}
	return append(dst, '}')
}

// appendChatLogprobs appends the value of a chat choice's logprobs:
// {"content":[{token, logprob, bytes, top_logprobs}]}.
func appendChatLogprobs(dst []byte, tk model.Tokenizer, toks []engine.Token) []byte {
	dst = api.AppendLogprobs(append(dst, `{"content":`...), tk, toks)
	return append(dst, `,"refusal":null}`...)
}
