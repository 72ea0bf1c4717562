package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Kind says what a Part is.
type Kind int

const (
	Text      Kind = iota // a piece of the answer's text
	Reasoning             // a piece of a thought
	Call                  // the beginning of a call
	Arguments             // a piece of the arguments of the last call
)

// A Part is a piece of an answer that is being generated.
type Part struct {
	Kind  Kind
	Index int    // Call and Arguments: the call's place in the answer, from 0
	Name  string // Call: the tool's name
	Text  string // other kinds: the piece; for Arguments the next piece of a JSON object
}

// A Tool is a function that a model may call.
type Tool struct {
	Name       string
	Also       []string        // names of no other tool by which models call it too
	Parameters json.RawMessage // a JSON schema; nil: any object

	// Text has the Lark rules of the text that a tool with [TextParameters] takes. It is empty for
	// any text, and for other tools. TextParam is the field of the request that has them, for errors.
	Text, TextParam string

	// Strict makes a grammar follow the schema exactly or fail. It applies only where arguments are
	// JSON.
	Strict bool

	// Accepts reports whether the tool can be called with arguments that are a whole object. Another
	// call of it is text. If it is nil, any arguments will do.
	Accepts func(arguments []byte) bool
}

// A Vocabulary looks up a token by its text. special reports whether the tokenizer treats it as a
// special token; ok is false if no token has that text.
type Vocabulary func(text string) (id int32, special, ok bool)

// A Dialect describes how the models of one family write. It is immutable, so several goroutines
// may share it.
type Dialect struct {
	name          string
	thought       tags
	messages      *messageSyntax // messages instead of tags; may be nil
	calls         style          // nil if the dialect has no calls
	bare          string         // see Parser
	vocabulary    Vocabulary
	thoughtMember string // see History.Thought
	functions     string // see History.Functions
	toolsInSystem bool   // see History.ToolsInSystem
	separateText  bool   // see History.SeparateText
	responses     bool   // see History.Responses
}

// tags are the strings before and after a thought, a call or a value. A dialect without them has
// empty ones.
type tags struct{ open, close string }

// think are the tags of most families.
var think = tags{"<think>", "</think>"}

// A style reads and writes the calls of one dialect.
type style interface {
	// openers returns the strings that begin a call anywhere in the text.
	openers() []string
	// inner returns the texts that open a call of one of the tools where a line begins, if its
	// opener was left out.
	inner(tools map[string]Tool) []string
	// open sets the mode that goes on with the attempt a after an opener, or after "" if that was left out.
	open(p *Parser, a attempt, opener string)
	// special returns the other strings that a parser needs to see.
	special() []string
	// grammar adds the rule of the calls, which is named calls.
	grammar(g *grammar)
}

// Name returns the dialect's name in the table of the package documentation, for logs.
func (d *Dialect) Name() string { return d.name }

// Tools reports whether the models can call tools.
func (d *Dialect) Tools() bool { return d.calls != nil }

// Reasons reports whether the models may think before they answer.
func (d *Dialect) Reasons() bool { return d.messages != nil || d.thought.open != "" }

// Marks returns the strings that the dialect writes around and within thoughts and calls.
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

// Special returns the marks that are special tokens. The caller must keep them in the text that it
// gives to a parser, even where it removes other special tokens.
func (d *Dialect) Special() []string {
	return slices.DeleteFunc(d.Marks(), func(text string) bool {
		_, special, ok := d.vocabulary(text)
		return !ok || !special
	})
}

// tokenOf splits a tag that is longer than one token, such as <|channel>thought or <function name=,
// into its token and the text after that.
func tokenOf(tag string) (token, rest string) {
	if end := strings.IndexAny(tag, ">]"); end >= 0 {
		return tag[:end+1], tag[end+1:]
	}
	if end := strings.IndexByte(tag, ' '); end > 0 {
		return tag[:end], tag[end:]
	}
	return tag, ""
}
