package server

import "tandem/engine"

// A form is what tells the replies of the two generating routes apart.
type form interface {
	idPrefix() string
	object(chunk bool) string
	// appendWhole and appendDelta append the member with a choice's text.
	appendWhole(dst []byte, text string) []byte
	appendDelta(dst []byte, text string) []byte
	// appendBegin and appendEnd append that member for a choice's first and
	// last chunk; an empty begin means there is no such chunk.
	appendBegin(dst []byte, c *choice) []byte
	appendEnd(dst []byte) []byte
	appendLogprobs(dst []byte, tk Tokenizer, c *choice, toks []engine.Token) []byte
}

type chatForm struct{}

func (chatForm) idPrefix() string { return "chatcmpl-" }

func (chatForm) object(chunk bool) string {
	if chunk {
		return "chat.completion.chunk"
	}
	return "chat.completion"
}

func (chatForm) appendWhole(dst []byte, text string) []byte {
	dst = append(dst, `"message":{"role":"assistant","content":`...)
	return append(appendString(dst, text), `,"refusal":null}`...)
}

func (chatForm) appendDelta(dst []byte, text string) []byte {
	return append(appendString(append(dst, `"delta":{"content":`...), text), '}')
}

func (chatForm) appendBegin(dst []byte, _ *choice) []byte {
	return append(dst, `"delta":{"role":"assistant","content":""}`...)
}

func (chatForm) appendEnd(dst []byte) []byte { return append(dst, `"delta":{}`...) }

func (chatForm) appendLogprobs(dst []byte, tk Tokenizer, _ *choice, toks []engine.Token) []byte {
	return appendChatLogprobs(dst, tk, toks)
}

type completionForm struct{}

func (completionForm) idPrefix() string { return "cmpl-" }

func (completionForm) object(bool) string { return "text_completion" }

func (completionForm) appendWhole(dst []byte, text string) []byte {
	return appendString(append(dst, `"text":`...), text)
}

func (f completionForm) appendDelta(dst []byte, text string) []byte { return f.appendWhole(dst, text) }

func (f completionForm) appendBegin(dst []byte, c *choice) []byte {
	if !c.echo {
		return dst
	}
	return f.appendWhole(dst, c.prompt.text)
}

func (f completionForm) appendEnd(dst []byte) []byte { return f.appendWhole(dst, "") }

func (completionForm) appendLogprobs(dst []byte, tk Tokenizer, c *choice, toks []engine.Token) []byte {
	dst, c.runes = appendLegacyLogprobs(dst, tk, toks, c.runes)
	return dst
}
