package server

import (
	"crypto/rand"
	"encoding/json"

	"tandem/app/dialect"
	"tandem/engine"
)

// An answer is what a choice has said so far, in blocks: its text, its reasoning
// and its calls, in the order in which they began.
//
// What is told whole is what is told in a stream, put together. So a call that breaks off,
// at a limit or because the model went wrong, stays one where arguments are told as they
// come, in chats, responses and messages, and no reply says then that it waits for what
// calls return. Where calls are told whole, by Ollama's routes, it is text, as the model
// wrote it and where it stood. What follows it is text everywhere.
type answer struct {
	blocks []block
	toks   []engine.Token // of the text of all, where log-probabilities are asked for
	held   []engine.Token // with log-probabilities, of which it is not known yet what they say
}

// A block is a stretch of an answer: of text, of reasoning, or a call.
type block struct {
	kind dialect.Kind   // Text, Reasoning or Call
	text []byte         // of a call, its arguments
	toks []engine.Token // of text, where log-probabilities are asked for

	// Of a call. The id is letters and digits, nine of them: some templates take
	// no other when it comes back.
	index    int
	id, name string
	args     object
}

// callID is the length of a call's id.
const callID = 9

// add appends a part.
func (a *answer) add(p dialect.Part) {
	switch p.Kind {
	case dialect.Call:
		a.blocks = append(a.blocks, block{kind: p.Kind, index: p.Index, id: rand.Text()[:callID], name: p.Name})
	case dialect.Arguments:
		if b := a.call(p.Index); b != nil {
			b.text = append(b.text, p.Text...)
			b.args.scan(p.Text)
		}
	default:
		if n := len(a.blocks); n == 0 || a.blocks[n-1].kind != p.Kind {
			a.blocks = append(a.blocks, block{kind: p.Kind})
		}
		b := &a.blocks[len(a.blocks)-1]
		b.text = append(b.text, p.Text...)
	}
}

// score keeps tokens with their log-probabilities with the text that they and those
// before them brought: the last ones, as many as it is long.
func (a *answer) score(toks []engine.Token, parts []dialect.Part) {
	a.held = append(a.held, toks...)
	if len(parts) == 0 {
		return
	}
	left, last := 0, -1
	for _, p := range parts {
		if p.Kind == dialect.Text {
			left += len(p.Text)
		}
	}
	end := len(a.held)
	for end > 0 && a.held[end-1].Text == "" { // what ended the answer says nothing
		end--
	}
	from := end
	for from > 0 && (left > 0 || from < end && a.held[from-1].Text == "") { // a part of a rune has no text
		from--
		left -= len(a.held[from].Text)
	}
	for i := range a.blocks {
		if a.blocks[i].kind == dialect.Text {
			last = i
		}
	}
	if last >= 0 {
		a.blocks[last].toks = append(a.blocks[last].toks, a.held[from:end]...)
		a.toks = append(a.toks, a.held[from:end]...)
	}
	a.held = a.held[:0]
}

// call returns the call with that index, nil if there is none.
func (a *answer) call(index int) *block {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if b := &a.blocks[i]; b.kind == dialect.Call && b.index == index {
			return b
		}
	}
	return nil
}

// calls returns the calls in order.
func (a *answer) calls() []*block {
	var list []*block
	for i := range a.blocks {
		if a.blocks[i].kind == dialect.Call {
			list = append(list, &a.blocks[i])
		}
	}
	return list
}

// called reports whether there are calls, and all are whole.
func (a *answer) called() bool {
	calls := 0
	for i := range a.blocks {
		if b := &a.blocks[i]; b.kind == dialect.Call {
			if !b.args.whole {
				return false
			}
			calls++
		}
	}
	return calls > 0
}

// joined returns all text of a kind, Text or Reasoning.
func (a *answer) joined(kind dialect.Kind) string {
	var all []byte
	for i := range a.blocks {
		if a.blocks[i].kind == kind {
			all = append(all, a.blocks[i].text...)
		}
	}
	return string(all)
}

// An object follows a JSON object to its end, piece by piece.
type object struct {
	depth           int
	quoted, escaped bool
	whole           bool
}

// scan goes on behind what came before.
func (o *object) scan(text string) {
	for i := range len(text) {
		switch b := text[i]; {
		case o.whole:
			return
		case o.escaped:
			o.escaped = false
		case o.quoted:
			o.quoted, o.escaped = b != '"', b == '\\'
		case b == '"':
			o.quoted = true
		case b == '{' || b == '[':
			o.depth++
		case b == '}' || b == ']':
			o.depth--
			o.whole = o.depth == 0
		}
	}
}

// complete reports whether a call's arguments are an object.
func (b *block) complete() bool { return b.args.whole && json.Valid(b.text) }
