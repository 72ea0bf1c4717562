package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Kind says what a Part is.
type Kind int

const (
	Text      Kind = iota // of the answer
	Reasoning             // of a thought
	Call                  // begins a call
	Arguments             // of the call that began last
)

// A Part is a piece of an answer in the making.
type Part struct {
	Kind  Kind
	Index int    // of Call and Arguments: the call's place in the answer, from 0
	Name  string // of Call: the tool's
	Text  string // of the others; of Arguments the next piece of a JSON object
}

// A Tool is what a model may call.
type Tool struct {
	Name       string
	Parameters json.RawMessage // a JSON schema; nil: any object
	Strict     bool            // a grammar follows the schema to the letter or fails, where arguments are JSON
}

// A Vocabulary looks up the text of a token. special is whether the tokenizer has it as a special
// one; ok is false if no token has that text.
type Vocabulary func(text string) (id int32, special, ok bool)

// A Dialect is how the models of one family write. It doesn't change.
type Dialect struct {
	name       string
	thought    tags
	channels   bool  // instead of tags, see harmony
	calls      style // nil if the dialect has no calls
	vocabulary Vocabulary
	history    string // see Remembered
}

// tags stand around something. No tags are empty.
type tags struct{ open, close string }

// think are the tags of most families.
var think = tags{"<think>", "</think>"}

// A style is how calls are written.
type style interface {
	// openers begin a call wherever they stand.
	openers() []string
	// open reads what follows an opener.
	open(p *Parser, opener string)
	// bare are the bytes that may begin a call without an opener, where the answer begins or goes on
	// behind a call or a thought. open is called with one of them then.
	bare() string
	// special are further texts that a parser needs to see.
	special() []string
	// grammar returns the rule of the calls, which is named calls.
	grammar(g *grammar)
}

// Name names the dialect, for logs.
func (d *Dialect) Name() string { return d.name }

// Tools reports whether the models can call tools.
func (d *Dialect) Tools() bool { return d.calls != nil }

// Reasons reports whether the models may think before they answer.
func (d *Dialect) Reasons() bool { return d.channels || d.thought.open != "" }

// Marks returns the texts that stand around thoughts and calls, and in them.
func (d *Dialect) Marks() []string {
	var texts []string
	if d.thought.open != "" {
		token, _ := tokenOf(d.thought.open)
		texts = append(texts, token, d.thought.close)
	}
	if d.calls != nil {
		texts = append(append(texts, d.calls.openers()...), d.calls.special()...)
	}
	return texts
}

// Special returns the marks that are special tokens, which a parser needs to see wherever such tokens
// are left out of the text otherwise.
func (d *Dialect) Special() []string {
	return slices.DeleteFunc(d.Marks(), func(text string) bool {
		_, special, ok := d.vocabulary(text)
		return !ok || !special
	})
}

// tokenOf splits what is no token as a whole, <|channel>thought, into one and the text behind it.
func tokenOf(tag string) (token, rest string) {
	if end := strings.IndexAny(tag, ">]"); end >= 0 {
		return tag[:end+1], tag[end+1:]
	}
	return tag, ""
}
