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
	Strict     bool            // a grammar follows the schema to the letter or fails
}

// A Vocabulary looks up the text of a token. special is whether the tokenizer has it as a special
// one; ok is false if no token has that text.
type Vocabulary func(text string) (id int32, special, ok bool)

// A Dialect is how the models of one family write. It doesn't change.
type Dialect struct {
	name       string
	thought    tags
	calls      style // nil if the dialect has no calls
	vocabulary Vocabulary
}

// tags stand around something. No tags are empty.
type tags struct{ open, close string }

// A style is how calls are written.
type style interface {
	// openers begin a call wherever they stand.
	openers() []string
	// open reads what follows an opener.
	open(p *Parser, opener string)
	// special are further texts that a parser needs to see.
	special() []string
	// grammar returns the rule of the calls, which is named calls.
	grammar(g *grammar)
}

// Detect returns the dialect of a model with that chat template: the source, all of it if there
// are several. It is never nil: a template that says nothing has the dialect that writes text only.
func Detect(template string, vocabulary Vocabulary) *Dialect {
	d := &Dialect{name: "plain", vocabulary: vocabulary}
	if strings.Contains(template, "</think>") || strings.Contains(template, "<think>") {
		d.thought = tags{"<think>", "</think>"}
	}
	if strings.Contains(template, "<tool_call>") {
		d.name, d.calls = "tool_call", tagged{}
	}
	return d
}

// Name names the dialect, for logs.
func (d *Dialect) Name() string { return d.name }

// Tools reports whether the models can call tools.
func (d *Dialect) Tools() bool { return d.calls != nil }

// Reasons reports whether the models may think before they answer.
func (d *Dialect) Reasons() bool { return d.thought.open != "" }

// Special returns the texts of the special tokens that a parser needs to see, wherever such tokens
// are left out of the text otherwise.
func (d *Dialect) Special() []string {
	var texts []string
	if d.Reasons() {
		texts = append(texts, d.thought.open, d.thought.close)
	}
	if d.calls != nil {
		texts = append(append(texts, d.calls.openers()...), d.calls.special()...)
	}
	return slices.DeleteFunc(texts, func(text string) bool {
		_, special, ok := d.vocabulary(text)
		return !ok || !special
	})
}
