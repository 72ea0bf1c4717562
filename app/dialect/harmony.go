package dialect

import (
	"fmt"
	"strings"
)

// harmony reads and writes the answers of gpt-oss, which are messages on channels:
//
//	<|channel|>analysis<|message|>THOUGHT<|end|><|start|>assistant<|channel|>commentary
//	to=functions.NAME <|constrain|>json<|message|>{}<|call|>
//
// A message without a recipient on the channels commentary and final is text. The recipient may
// also stand before the channel.
//
// Sources: github.com/openai/harmony, docs/format.md; chat_template of openai/gpt-oss-20b on the
// hub.
type harmony struct{}

const (
	harmonyStart   = "<|start|>"
	harmonyMessage = "<|message|>"
	harmonyChannel = "<|channel|>"
	harmonyTo      = "to="
	maxHeader      = 1 << 10 // bytes of a message's header; a longer one is text
)

// harmonyEnds end a message.
var harmonyEnds = []string{"<|end|>", "<|call|>", "<|return|>", harmonyStart}

func (harmony) openers() []string { return nil }
func (harmony) bare() string      { return "" }
func (harmony) special() []string {
	return append([]string{harmonyMessage, harmonyChannel, "<|constrain|>"}, harmonyEnds...)
}

func (harmony) open(*Parser, string) {}

func (harmony) grammar(g *grammar) {
	call := g.addRulePerTool("call", func(t Tool) string {
		return fmt.Sprintf("%s %s %s %s %s %s",
			g.token(harmonyChannel), quote("commentary to=functions."+t.Name+" "),
			g.token("<|constrain|>"), quote("json"), g.token(harmonyMessage), g.arguments(t))
	})
	g.addAnalysis()
	g.addRule("calls", "analysis? %s", call) // the token after it ends the answer
}

// addAnalysis adds the rule of a thought.
func (g *grammar) addAnalysis() {
	g.addRuleOnce("analysis", "%s %s %s /(.|\\n)*/ %s %s %s",
		g.token(harmonyChannel), quote("analysis"), g.token(harmonyMessage),
		g.token("<|end|>"), g.token(harmonyStart), quote("assistant"))
}

// addFinal adds the rule of an answer on the channel final, whose text follows rule.
func (g *grammar) addFinal(rule string) {
	g.addAnalysis()
	g.addRule("answer", "analysis? %s %s %s %s",
		g.token(harmonyChannel), quote("final"), g.token(harmonyMessage), rule)
}

// A messages reads an answer that is written as messages.
type messages struct {
	at     messagePlace
	before []byte // the beginning of the header, which the prompt holds
	header []byte // the rest of the header
	kind   Kind   // the kind of the message's text
	name   string // the tool that the message calls
	held   []byte // bytes that may end the message
	args   arguments
	called bool
	look   lookout
	from   int // the place in source where the header begins
}

type messagePlace int

const (
	inHeader messagePlace = iota
	inMessage
	atArguments
	inMessageArguments
	afterArguments
	afterMessage
)

// newMessages returns the mode that reads an answer to a prompt. Most prompts end within a header.
func newMessages(p *Parser, prompt string) *messages {
	m := &messages{before: []byte(harmonyStart + "assistant")}
	if at := strings.LastIndex(prompt, harmonyStart); at >= 0 {
		was := *p
		m.before, m.at = nil, afterMessage
		p.mode = m
		p.reread([]byte(prompt[at:]))
		*p = was // the prompt is no part of the answer
		m.before, m.header, m.from = m.header, nil, 0
	}
	return m
}

func (m *messages) read(p *Parser, c byte) {
	switch m.at {
	case inHeader:
		m.header = append(m.header, c)
		if header, ok := strings.CutSuffix(string(m.header), harmonyMessage); ok {
			m.beginMessage(p, string(m.before)+header)
		} else if !m.mayBeHeader() || len(m.header) > maxHeader {
			m.treatAsText(p, m.header)
		}
	case inMessage:
		m.readContent(p, c)
	case atArguments:
		if m.held = append(m.held, c); c == '{' {
			m.at, m.held = inMessageArguments, nil
			p.beginCall(m.name, p.source.at-m.from)
			m.readArgument(p, c)
		} else if !isSpace(c) || len(m.held) > maxSpace {
			m.treatAsText(p, m.held)
		}
	case inMessageArguments:
		m.readArgument(p, c)
	case afterArguments:
		if tag, ok := m.look.read(c, harmonyEnds); !ok {
			m.treatAsText(p, m.look.held)
		} else if tag != "" {
			m.endMessage(p, tag)
		}
	case afterMessage:
		if tag, ok := m.look.read(c, []string{harmonyStart}); !ok {
			m.treatAsText(p, m.look.held)
		} else if tag != "" {
			m.endMessage(p, tag)
		}
	}
}

// mayBeHeader reports whether the bytes read so far may be a header.
func (m *messages) mayBeHeader() bool {
	if len(m.before) == 0 {
		return true // the header has its start token in the answer
	}
	text := strings.TrimLeft(string(m.header), " \n")
	for _, first := range []string{"<|", harmonyTo} {
		if strings.HasPrefix(text, first) || strings.HasPrefix(first, text) {
			return true
		}
	}
	return false
}

// beginMessage begins the message after a header.
func (m *messages) beginMessage(p *Parser, header string) {
	m.kind, m.name, m.called, m.args, m.held = Text, "", false, arguments{}, nil
	m.before, m.header, p.source.open = nil, nil, false
	field := func(mark string) string {
		_, rest, _ := strings.Cut(header, mark)
		end := strings.IndexAny(rest, " <\n")
		if end < 0 {
			return rest
		}
		return rest[:end]
	}
	if field(harmonyChannel) == "analysis" {
		m.kind = Reasoning
	}
	m.at = inMessage
	if m.name = strings.TrimPrefix(field(harmonyTo), "functions."); m.name != "" && p.tools != nil {
		m.at = atArguments
	}
}

// treatAsText reads b, which turned out not to be markup, as the beginning of a message of text.
func (m *messages) treatAsText(p *Parser, b []byte) {
	p.source.unread(len(b))
	p.source.endCall()
	p.source.at += len(b)
	m.at, m.kind, m.before, m.header, m.held, m.look = inMessage, Text, nil, nil, nil, lookout{}
	for _, c := range b {
		m.readContent(p, c)
	}
}

// readContent reads a byte of a message's text, or of the token that ends it.
func (m *messages) readContent(p *Parser, c byte) {
	for m.held = append(m.held, c); len(m.held) > 0; m.held = m.held[1:] {
		if tag, whole := matchPrefix(m.held, harmonyEnds); whole {
			m.endMessage(p, tag)
			return
		} else if tag != "" {
			return
		}
		p.emit(m.kind, m.held[0])
	}
	m.held = nil
}

// readArgument reads a byte of the arguments.
func (m *messages) readArgument(p *Parser, c byte) {
	p.emit(Arguments)
	out, end, ok := m.args.read(p.run, c)
	switch p.run = out; {
	case end:
		m.at = afterArguments
	case !ok:
		m.treatAsText(p, []byte{c})
	}
}

// endMessage ends a message at the given token.
func (m *messages) endMessage(p *Parser, tag string) {
	p.source.endCall()
	p.source.open = false
	m.held, m.look = nil, lookout{}
	if m.at = afterMessage; tag == harmonyStart {
		m.at, m.before, m.header = inHeader, nil, []byte(harmonyStart)
		m.from = p.source.at - len(harmonyStart)
	}
}

func (m *messages) end(p *Parser, cut bool) {
	switch m.at {
	case inMessage:
		p.emit(m.kind, m.held...)
	case atArguments:
		if !cut {
			p.emit(Text, m.held...)
		}
	case inHeader: // the unfinished header of an assistant's message holds no text
		isAssistant := strings.HasPrefix(string(m.header), harmonyStart+"assistant")
		if len(m.before) == 0 && !isAssistant && !cut {
			p.emit(Text, m.header...)
		}
	case inMessageArguments:
		if !cut && m.args.json.lacksBrace() {
			p.emit(Arguments, '}')
		}
	}
}
