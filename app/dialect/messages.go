package dialect

import (
	"slices"
	"strings"
)

// Tokens of answers that are written as messages.
const (
	messageStart = "<|start|>"
	messageRole  = "assistant" // after messageStart
	messageBody  = "<|message|>"
	messageTo    = "to="
	maxHeader    = 1 << 10 // bytes of a message's header; a longer one is text
)

// headerStarts are the texts that begin a header. The start token may be missing.
var headerStarts = []string{messageStart, messageRole + harmonyChannel, messageRole + " " + messageTo}

// A messageSyntax says how a family writes an answer as messages. Each has a header, which names its
// recipient.
type messageSyntax struct {
	ends          []string // the texts that end a message, first the one of a thought
	mark, thought string   // a message is a thought if its header has that text after that mark

	// openers are the texts that open a call in a message, and marks are these and ends. Without
	// openers the header names the tool, and the message is the arguments.
	openers, marks []string

	// final adds the rule of an answer without calls, whose text follows rule.
	final func(g *grammar, rule string)
}

// A messages reads an answer that is written as messages.
type messages struct {
	syntax  *messageSyntax
	at      messagePlace
	before  []byte // the beginning of the header, which the prompt holds
	header  []byte // the rest of the header
	within  int    // bytes of header that ended the message before, or 0
	kind    Kind   // the kind of the message's text
	name    string // the tool that the message calls
	held    []byte // bytes that may end the message
	args    scanner
	called  bool
	scanner tagScanner
	from    int          // the place in source where the header begins
	slipped bool         // the message's token is missing, or came twice
	after   messagePlace // after atBody
}

type messagePlace int

const (
	inHeader messagePlace = iota
	atBody                // before a message, whose token may come twice
	inMessage
	atCall // at the beginning of a message, or after a call in it
	atArguments
	inMessageArguments
	afterArguments
	afterMessage
)

// newMessages returns the mode that reads an answer to a prompt. Most prompts end within a header.
func newMessages(p *Parser, prompt string) *messages {
	m := &messages{syntax: p.dialect.messages, before: []byte(messageStart + messageRole)}
	if at := strings.LastIndex(prompt, messageStart); at >= 0 {
		was := *p
		m.before, m.at = nil, afterMessage
		p.home, p.mode = m, m
		p.reread([]byte(prompt[at:]))
		*p = was // the prompt is not part of the answer
		m.before, m.header, m.within, m.from = m.header, nil, 0, 0
	}
	return m
}

func (m *messages) read(p *Parser, c byte) {
	switch m.at {
	case inHeader:
		m.header = append(m.header, c)
		header := string(m.before) + string(m.header)
		if head, ok := strings.CutSuffix(header, messageBody); ok {
			m.beginMessage(p, head)
			m.at, m.after = atBody, m.at
		} else if head, call := m.cutCall(p, header); call != "" {
			m.beginMessage(p, head)
			m.slipped = true
			p.reread([]byte(call))
		} else if !m.mayBeHeader() || len(m.header) > maxHeader {
			m.treatAsText(p, m.header)
		}
	case atBody:
		if tag, ok := m.scanner.read(c, []string{messageBody}); !ok {
			m.leaveBody(p)
		} else if tag != "" {
			m.slipped = true
		}
	case inMessage:
		m.readContent(p, c)
	case atCall:
		m.readOpener(p, c)
	case atArguments:
		if m.held = append(m.held, c); c == '{' {
			m.at, m.held = inMessageArguments, nil
			p.beginCall(m.name, p.source.at-m.from)
			p.slipped = p.slipped || m.slipped
			m.readArgument(p, c)
		} else if !isSpace(c) || len(m.held) > maxSpace {
			m.treatAsText(p, m.held)
		}
	case inMessageArguments:
		m.readArgument(p, c)
	case afterArguments:
		if tag, ok := m.scanner.read(c, m.syntax.ends); !ok {
			m.treatAsText(p, m.scanner.held)
		} else if tag != "" {
			m.endMessage(p, tag)
		}
	case afterMessage:
		if tag, ok := m.scanner.read(c, headerStarts); !ok {
			m.treatAsText(p, m.scanner.held)
		} else if tag != "" {
			m.endMessage(p, tag)
		}
	}
}

// mayBeHeader reports whether the bytes read so far may be a header.
func (m *messages) mayBeHeader() bool {
	text := strings.TrimLeft(string(m.header[m.within:]), " \n")
	ends := func(tag string) bool {
		begins := tag == messageStart || strings.HasPrefix(tag, m.syntax.mark) // a header
		return strings.HasSuffix(text, tag) && (m.within > 0 || !begins)
	}
	if slices.ContainsFunc(m.syntax.ends, ends) {
		return false // the message ends, not its header
	}
	if len(m.before) == 0 {
		return true // the header has its start token in the answer
	}
	for _, first := range []string{"<|", messageTo} {
		if strings.HasPrefix(text, first) || strings.HasPrefix(first, text) {
			return true
		}
	}
	return false
}

// beginMessage begins the message after a header.
func (m *messages) beginMessage(p *Parser, header string) {
	m.kind, m.name, m.called, m.args, m.held, m.slipped = Text, "", false, scanner{}, nil, false
	m.before, m.header, m.within, p.source.open = nil, nil, 0, false
	if field(header, m.syntax.mark) == m.syntax.thought {
		m.kind = Reasoning
	}
	m.at = inMessage
	if m.syntax.openers != nil {
		if m.kind == Text && p.tools != nil {
			m.at = atCall
		}
		return
	}
	if m.name = p.recipient(header); m.name != "" && p.tools != nil {
		m.at = atArguments
	}
}

// leaveBody goes on after the message's token.
func (m *messages) leaveBody(p *Parser) {
	held := m.scanner.held
	m.at, m.scanner = m.after, tagScanner{}
	p.reread(held)
}

// cutCall cuts a header where a call begins without the message's token before it.
func (m *messages) cutCall(p *Parser, header string) (head, call string) {
	for _, call := range m.syntax.openers {
		if head, ok := strings.CutSuffix(header, call); ok {
			return head, call
		}
	}
	head, ok := strings.CutSuffix(header, "{")
	if ok && m.syntax.openers == nil && p.hasTool(p.recipient(head)) {
		return head, "{"
	}
	return header, ""
}

// field returns the word after a mark in a header.
func field(header, mark string) string {
	_, rest, _ := strings.Cut(header, mark)
	for strings.HasPrefix(rest, mark) { // it came twice
		rest = rest[len(mark):]
	}
	if end := strings.IndexAny(rest, " <\n"); end >= 0 {
		return rest[:end]
	}
	return rest
}

// recipient returns the name of the tool in a header.
func (p *Parser) recipient(header string) string {
	const space = "functions."
	found := strings.TrimPrefix(field(header, messageTo), space)
	_, to, _ := strings.Cut(header, messageTo)
	for name := range p.tools { // a name may have spaces
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(to, space), name); ok &&
			len(name) > len(found) && (rest == "" || strings.IndexByte(" <\n", rest[0]) >= 0) {
			found = name
		}
	}
	if name := unquoted(found); p.hasTool(name) {
		return name
	}
	return found
}

// readOpener reads white space and then the text that opens a call, or a token that ends the
// message.
func (m *messages) readOpener(p *Parser, c byte) {
	space := m.scanner.held[:m.scanner.tag]
	tag, ok := m.scanner.read(c, m.syntax.marks)
	switch {
	case !ok:
		m.treatAsText(p, m.scanner.held)
	case slices.Contains(m.syntax.openers, tag):
		p.space = append(p.space, space...) // text, if this is not a call
		a := opened(tag)
		a.inner = m.slipped
		a.lead = p.source.at - len(tag) - len(p.space) - m.from
		p.mode = &doubledOpener{attempt: a, opener: tag}
	case tag != "":
		m.endMessage(p, tag)
	}
}

// resume goes on after a call in the message. ended reports whether the call was complete.
func (m *messages) resume(p *Parser, ended bool) {
	m.at, m.kind, m.held, m.scanner = inMessage, Text, nil, tagScanner{}
	if ended {
		m.at, m.from = atCall, p.source.at
	}
}

// treatAsText reads b, which turned out not to be markup, as the beginning of a message of text.
func (m *messages) treatAsText(p *Parser, b []byte) {
	p.source.unread(len(b))
	p.source.endCall()
	p.endCall()
	p.source.at += len(b)
	if m.within == 0 { // else the message goes on
		m.kind = Text
	}
	if m.at == inHeader { // the tag that may begin b is text
		p.emit(m.kind, b[0])
		b = b[1:]
	}
	m.at, m.before, m.header, m.within, m.held, m.scanner = inMessage, nil, nil, 0, nil, tagScanner{}
	p.reread(b)
}

// readContent reads a byte of a message's text, or of the token that ends it.
func (m *messages) readContent(p *Parser, c byte) {
	for m.held = append(m.held, c); len(m.held) > 0; m.held = m.held[1:] {
		if tag, whole := matchPrefix(m.held, m.syntax.ends); whole {
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
	switch ended, ok := m.args.readArgument(p, c); {
	case ended:
		m.at = afterArguments
		p.endCall()
	case !ok:
		m.treatAsText(p, []byte{c})
	}
}

// endMessage ends a message at the given token.
func (m *messages) endMessage(p *Parser, tag string) {
	p.source.endCall()
	p.endCall()
	p.source.open = false
	m.held, m.scanner = nil, tagScanner{}
	channel := strings.HasPrefix(tag, harmonyChannel)
	if m.at = afterMessage; slices.Contains(headerStarts, tag) || channel {
		m.at, m.before, m.header = inHeader, nil, []byte(tag)
		m.from = p.source.at - len(tag)
	}
	if channel {
		m.before, m.within = []byte(messageStart+messageRole), len(tag)
	}
}

func (m *messages) end(p *Parser, cut bool) {
	if m.at == atBody {
		m.leaveBody(p)
	}
	switch m.at {
	case inMessage:
		if !cut || !strings.HasPrefix(string(m.held), harmonyChannel) {
			p.emit(m.kind, m.held...)
		}
	case atCall:
		if !cut || !m.scanner.begun() {
			p.emit(Text, m.scanner.held...)
		}
	case atArguments:
		if !cut {
			p.emit(Text, m.held...)
		}
	case inHeader: // the unfinished header of an assistant's message holds no text
		if m.within > 0 && !cut {
			p.emit(m.kind, m.header...)
		}
		isAssistant := strings.HasPrefix(string(m.header), messageStart+messageRole)
		if len(m.before) == 0 && !isAssistant && !cut {
			p.emit(Text, m.header...)
		}
	case inMessageArguments:
		if !cut && m.args.lacksBrace() {
			p.emit(Arguments, '}')
		}
	}
}
