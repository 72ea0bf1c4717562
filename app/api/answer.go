package api

import (
	"crypto/rand"
	"encoding/json"

	"tandem/app/dialect"
	"tandem/engine"
)

// An Answer is what a choice has said so far, in blocks: its text, its reasoning and its calls, in
// the order in which they began.
//
// A whole answer equals the events of a stream, put together. A call comes when its arguments are
// whole, and a call that the model broke is text, see the package dialect. Only a limit leaves a
// call with a part of its arguments. No reply then says that it waits for what calls return, and
// Ollama's routes leave that call out. On Anthropic's routes it is text: clients could not tell.
type Answer struct {
	Blocks []Block
	toks   []engine.Token // of the text of all, where log-probabilities are asked for
	held   []engine.Token // with log-probabilities; their text is not known yet
}

// A Block is a stretch of an answer: of text, of reasoning, or a call.
type Block struct {
	Kind   dialect.Kind   // Text, Reasoning or Call
	Text   []byte         // of a call: its arguments
	Tokens []engine.Token // of text, where log-probabilities are asked for

	// Of a call. The id is nine letters and digits: some templates accept no other when it comes
	// back.
	Index    int
	ID, Name string
	Args     object
}

// CallID is the length of a call's id.
const CallID = 9

// Add appends a part.
func (a *Answer) Add(p dialect.Part) {
	switch p.Kind {
	case dialect.Call:
		a.Blocks = append(a.Blocks, Block{Kind: p.Kind, Index: p.Index, ID: rand.Text()[:CallID],
			Name: p.Name})
	case dialect.Arguments:
		if b := a.Call(p.Index); b != nil {
			b.Text = append(b.Text, p.Text...)
			b.Args.scan(p.Text)
		}
	default:
		if n := len(a.Blocks); n == 0 || a.Blocks[n-1].Kind != p.Kind {
			a.Blocks = append(a.Blocks, Block{Kind: p.Kind})
		}
		b := &a.Blocks[len(a.Blocks)-1]
		b.Text = append(b.Text, p.Text...)
	}
}

// score assigns log-probabilities to the text that parts bring. It keeps the last tokens whose text
// is as long as the parts' text.
func (a *Answer) score(toks []engine.Token, parts []dialect.Part) {
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
	// a part of a rune has no text
	for from > 0 && (left > 0 || from < end && a.held[from-1].Text == "") {
		from--
		left -= len(a.held[from].Text)
	}
	for i := range a.Blocks {
		if a.Blocks[i].Kind == dialect.Text {
			last = i
		}
	}
	if last >= 0 {
		a.Blocks[last].Tokens = append(a.Blocks[last].Tokens, a.held[from:end]...)
		a.toks = append(a.toks, a.held[from:end]...)
	}
	a.held = a.held[:0]
}

// Call returns the call with that index, or nil.
func (a *Answer) Call(index int) *Block {
	for i := len(a.Blocks) - 1; i >= 0; i-- {
		if b := &a.Blocks[i]; b.Kind == dialect.Call && b.Index == index {
			return b
		}
	}
	return nil
}

// Calls returns the calls in order.
func (a *Answer) Calls() []*Block {
	var list []*Block
	for i := range a.Blocks {
		if a.Blocks[i].Kind == dialect.Call {
			list = append(list, &a.Blocks[i])
		}
	}
	return list
}

// called reports whether there are calls, and all are whole.
func (a *Answer) called() bool {
	calls := 0
	for i := range a.Blocks {
		if b := &a.Blocks[i]; b.Kind == dialect.Call {
			if !b.Args.Whole {
				return false
			}
			calls++
		}
	}
	return calls > 0
}

// Joined returns all text of a kind, Text or Reasoning.
func (a *Answer) Joined(kind dialect.Kind) string {
	var all []byte
	for i := range a.Blocks {
		if a.Blocks[i].Kind == kind {
			all = append(all, a.Blocks[i].Text...)
		}
	}
	return string(all)
}

// An object follows a JSON object to its end, piece by piece.
type object struct {
	depth           int
	quoted, escaped bool
	Whole           bool
}

// scan reads the next piece of the object.
func (o *object) scan(text string) {
	for i := range len(text) {
		switch b := text[i]; {
		case o.Whole:
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
			o.Whole = o.depth == 0
		}
	}
}

// Complete reports whether a call's arguments are a whole JSON object.
func (b *Block) Complete() bool { return b.Args.Whole && json.Valid(b.Text) }
