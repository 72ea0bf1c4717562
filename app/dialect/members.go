package dialect

import (
	"bytes"
	"slices"
	"strings"
)

const maxName = 256 // bytes of a tool's name or a parameter's

// A memberCall reads a call whose arguments are written one by one, name and value between tags.
type memberCall struct {
	attempt
	syntax  *memberSyntax
	at      memberPlace
	scanner tagScanner
	name    []byte // the name of the tool, then of the parameter, as far as it has been read
	head    []byte // the text of a parameter up to its value
	tool    Tool
	left    map[string]bool // the tool's parameters that have not been read
	count   int             // parameters read
	from    int             // the place in the arguments where the last of them begins
	value   memberValue
	last    []byte   // the text that may have ended the value
	after   []string // the tags that may follow it
	ended   bool     // a tag that ends the call is in it
	bare    bool     // no tag came before the value
}

// A memberSyntax holds the tags with which a family writes such calls. A value may contain valueEnd
// itself: it ends at the first one that another parameter or the end of the call follows, and that is
// neither in a call within the value nor in data. If that tag is missing, it ends before a parameter of
// the tool that has not been read, or at the tags that end the call, if nothing but another call follows
// these.
type memberSyntax struct {
	function  string   // before the tool's name, or ""
	named     string   // after the tool's name; "": white space or a tag
	doubled   bool     // NAME.NAME also means NAME
	parameter string   // before a parameter's name
	keyed     string   // after a parameter's name
	valued    string   // before a value, or ""
	valueEnd  string   // after the value
	lines     bool     // a line's end before a value and one after it belong to the tags
	quoted    bool     // names are in quotes
	data      tags     // may be around a value, within its tags
	object    bool     // the arguments are a JSON object instead
	ends      []string // the tags that end the call, in their order; each of them is enough

	functions []string // only function
	valueds   []string // valued, and keyed once more
	next      []string // the tags that may follow the tool's name, or a value
	again     []string // next, and valueEnd once more
	stops     []string // valueEnd and ends, and these after a line's end
	keyEnds   []string // keyed and valued; none without valued
}

// newMemberSyntax fills in the lists of tags.
func newMemberSyntax(f memberSyntax) *memberSyntax {
	f.functions, f.valueds = []string{f.function}, []string{f.valued, f.keyed}
	f.next = append([]string{f.parameter}, f.ends...)
	f.again = append(slices.Clip(f.next), f.valueEnd)
	if f.valued != "" {
		f.stops = []string{f.valued}
		f.keyEnds = []string{f.keyed + f.valued, f.keyed + "\n" + f.valued}
	}
	for _, stop := range append([]string{f.valueEnd}, f.ends...) {
		if f.stops = append(f.stops, stop); f.lines || stop != f.valueEnd {
			f.stops = append(f.stops, "\n"+stop)
		}
	}
	return &f
}

type memberPlace int

const (
	memberAtFunction memberPlace = iota
	memberInName
	memberAtNext // before a parameter or the end of the call
	memberInKey
	memberAtValue
	memberAtText // after valued, which may come twice
	memberInValue
	memberAfterValue
)

func (m *memberCall) read(p *Parser, c byte) {
	if !m.hold(p, c) {
		return
	}
	switch m.at {
	case memberAtFunction:
		if (c == '{' || c == '[') && !m.scanner.begun() {
			m.enterJSON(p, c)
			return
		}
		if m.syntax.function == "" {
			if !isSpace(c) {
				m.at = memberInName
				m.readName(p, c)
			}
			return
		}
		if tag, ok := m.scanner.read(c, m.syntax.functions); !ok {
			m.fail(p)
		} else if tag != "" {
			m.at = memberInName
		}
	case memberInName:
		m.readName(p, c)
	case memberAtNext:
		m.readNext(p, c)
	case memberInKey:
		m.readKey(p, c)
	case memberAtValue:
		m.head = append(m.head, c)
		if tag, ok := m.scanner.read(c, m.syntax.valueds); !ok {
			m.bare = true
			held := m.scanner.held[m.scanner.tag:]
			m.scanner = tagScanner{}
			m.beginValue(p)
			p.reread(held)
		} else if tag == m.syntax.valued {
			m.at = memberAtText
		}
	case memberAtText:
		m.head = append(m.head, c)
		tag, ok := m.scanner.read(c, m.syntax.valueds[:1])
		p.slipped = p.slipped || tag != ""
		if !ok || tag != "" {
			held := m.scanner.held
			m.scanner = tagScanner{}
			m.beginValue(p)
			p.reread(held)
		}
	case memberInValue:
		if stop := m.value.read(p, c); stop != "" {
			m.endText(p, stop)
		}
	case memberAfterValue:
		m.readAfterValue(p, c)
	}
}

// enterJSON makes the parser read a call that is JSON in the family's own tag, from its first byte.
func (m *memberCall) enterJSON(p *Parser, c byte) {
	a := m.attempt
	a.raw = a.raw[:len(a.raw)-1]
	p.mode = jsonCall(a, c, m.syntax.ends)
	p.mode.read(p, c)
}

// jsonCall returns the mode that reads such a call, which begins with c.
func jsonCall(a attempt, c byte, closing []string) mode {
	if a.inner = true; c == '[' {
		return &listCall{attempt: a, closing: closing}
	}
	return &objectCall{attempt: a, closing: closing}
}

// endText takes the text that may have ended the value.
func (m *memberCall) endText(p *Parser, stop string) {
	m.at, m.last = memberAfterValue, append(m.last[:0], stop...)
	m.ended = slices.Contains(m.syntax.ends, strings.TrimPrefix(stop, "\n"))
	switch {
	case m.bare && (m.ended || m.value.next != ""):
		m.fail(p, m.last...)
	case m.value.next == string(m.name): // its tag came twice
		p.run, m.count, p.slipped = p.run[:m.from], m.count-1, true
		m.enterValue(p, m.value.next, stop)
	case m.value.next != "":
		m.endValue(p)
		m.enterValue(p, m.value.next, stop)
	case m.ended:
		m.after = slices.Concat(m.syntax.ends, p.atLine, p.next)
	case stop == m.syntax.valued: // in place of the closing tag
		m.after = slices.Concat(m.syntax.next, p.next)
	default:
		m.after = slices.Concat(m.syntax.again, m.keys(), p.next)
	}
}

// enterValue enters the value of a parameter after head, the text that names it.
func (m *memberCall) enterValue(p *Parser, key, head string) {
	m.name, m.head, m.bare = append(m.name[:0], key...), append(m.head[:0], head...), false
	switch {
	case m.syntax.valued == "":
		m.beginValue(p)
	case strings.HasSuffix(head, m.syntax.valued):
		m.at = memberAtText
	default:
		m.at = memberAtValue
	}
}

// readAfterValue reads what follows a tag that may have ended the value.
func (m *memberCall) readAfterValue(p *Parser, c byte) {
	space := string(m.scanner.held[:m.scanner.tag])
	tag, ok := m.scanner.read(c, m.after)
	switch {
	case !ok:
		m.at = memberInValue
		for _, c := range m.last {
			m.value.addByte(p, c)
		}
		held := m.scanner.held
		m.scanner = tagScanner{}
		p.reread(held)
	case tag == "":
	case tag == m.syntax.valueEnd || m.ended && slices.Contains(m.syntax.ends, tag):
		m.last = append(append(m.last, space...), tag...)
	case m.ended || slices.Contains(p.next, tag):
		m.endValue(p)
		p.slipped = true
		p.emit(Arguments, '}')
		p.leaveCall(true, []byte(space+tag))
	default:
		m.endValue(p)
		m.enterMember(p, tag)
	}
}

// endValue ends a value.
func (m *memberCall) endValue(p *Parser) {
	p.slipped = p.slipped || m.bare || bytes.Count(m.last, []byte(m.syntax.valueEnd)) != 1
	m.value.end(p)
}

// readName reads the tool's name.
func (m *memberCall) readName(p *Parser, c byte) {
	if m.called { // the function's tag once more
		m.head = append(m.head, c)
	}
	switch end := m.syntax.named; {
	case end == "" && len(m.name) > 0 && (isSpace(c) && !p.hasTools(string(m.name)+string(c)) || c == '<'): // a call if a tag comes
		m.at = memberAtNext
		m.findTool(p, string(m.name))
		m.readNext(p, c)
	case c == '<' || c == '\n' || len(m.name) == maxName:
		m.fail(p, m.head...)
	default:
		m.name = append(m.name, c)
		if name, ok := strings.CutSuffix(string(m.name), end); ok && end != "" {
			if unquoted(name) == "" || m.called && p.tools[unquoted(name)].Name != m.tool.Name {
				m.fail(p, m.head...)
				return
			}
			if m.at = memberAtNext; m.called {
				return
			}
			m.beginCall(p, unquoted(name))
			p.slipped = p.slipped || m.syntax.quoted != (unquoted(name) != name)
		}
	}
}

// beginCall begins the call.
func (m *memberCall) beginCall(p *Parser, name string) {
	if space, rest, ok := strings.Cut(name, "."); ok && m.syntax.doubled && !p.hasTool(name) &&
		space == rest && p.hasTool(rest) {
		name = rest
	}
	if m.inner && !p.hasTool(name) {
		m.fail(p)
		return
	}
	m.findTool(p, name)
	m.name = m.name[:0]
	m.accept(p, name)
	p.emit(Arguments, '{')
}

// findTool looks up the tool that is called.
func (m *memberCall) findTool(p *Parser, name string) {
	m.tool, m.left = p.tools[name], map[string]bool{}
	for key := range readParameters(m.tool.Parameters).Properties {
		m.left[key] = true
	}
}

// readNext reads the tag of a parameter, or one that ends the call.
func (m *memberCall) readNext(p *Parser, c byte) {
	if c == '{' && m.called && m.count == 0 && !m.scanner.begun() {
		p.slipped, p.run = p.slipped || !m.syntax.object, p.run[:0]
		p.mode = &argumentsCall{attempt: m.attempt, closing: m.syntax.ends, alone: true}
		p.mode.read(p, c)
		return
	}
	tags := slices.Concat(m.syntax.next, m.keys())
	if m.called && m.count == 0 && m.syntax.function != "" {
		tags = append(tags, m.syntax.function)
	}
	if !m.called {
		tags = append(tags, m.syntax.keyed)
	}
	tag, ok := m.scanner.read(c, tags)
	if tag == m.syntax.keyed {
		tag, ok = m.splitName(p)
	}
	switch {
	case !ok:
		m.fail(p, m.scanner.held...)
	case tag != "":
		if !m.called {
			m.beginCall(p, string(m.name))
		}
		if m.called { // else it names no tool
			m.enterMember(p, tag)
		}
	}
}

// splitName takes the name of the first parameter from the end of the tool's, where the tag between them is
// missing. It returns that name with the tag after it.
func (m *memberCall) splitName(p *Parser) (tag string, ok bool) {
	whole, name := string(m.name), ""
	for tool, t := range p.tools {
		key, found := strings.CutPrefix(whole, tool)
		if found && len(tool) > len(name) && readParameters(t.Parameters).Properties[key] != nil {
			name, tag = tool, key+m.syntax.keyed
		}
	}
	if name == "" {
		return "", false
	}
	m.name = []byte(name)
	return tag, true
}

// keys returns the names of the parameters that have not been read, each with the tag after it. Without
// a tag before a value the rest of a parameter's tag says too little.
func (m *memberCall) keys() (list []string) {
	for key := range m.left {
		if m.syntax.valued != "" {
			list = append(list, key+m.syntax.keyed)
		}
	}
	return list
}

// enterMember enters a parameter, or ends the call, as the tag says. The tag may also be the rest of a
// parameter's, or the function's once more.
func (m *memberCall) enterMember(p *Parser, tag string) {
	end := slices.Index(m.syntax.ends, tag)
	switch {
	case tag == m.syntax.parameter:
		m.at, m.name, m.head = memberInKey, m.name[:0], append(m.head[:0], tag...)
	case tag == m.syntax.function:
		m.at, m.name, m.head = memberInName, m.name[:0], append(m.head[:0], tag...)
		p.slipped = true
	case end < 0:
		p.slipped = true
		m.enterValue(p, strings.TrimSuffix(tag, m.syntax.keyed), tag)
	default:
		p.emit(Arguments, '}')
		p.readClosing(m.syntax.ends[end:]...)
	}
}

// readKey reads a parameter's name.
func (m *memberCall) readKey(p *Parser, c byte) {
	m.head, m.name = append(m.head, c), append(m.name, c)
	f, text := m.syntax, string(m.name)
	name, keyed := strings.CutSuffix(text, f.keyed)
	valued := false
	if !keyed && f.valued != "" {
		name, valued = strings.CutSuffix(text, f.valued)
	}
	if keyed || valued {
		bare := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), f.parameter))
		key := unquoted(bare)
		if key == "" || strings.ContainsAny(key, "<\n") {
			m.fail(p, m.head...)
			return
		}
		p.slipped = p.slipped || valued || bare != name || f.quoted != (key != bare)
		m.enterValue(p, key, string(m.head))
		return
	}
	text = text[:max(0, strings.LastIndexByte(text, '<'))]
	if strings.Contains(strings.TrimSpace(text), "\n") || c == '<' && f.keyed[0] != '<' && len(m.name) > 1 ||
		len(m.name) == maxName+len(f.keyed) {
		m.fail(p, m.head...)
	}
}

// beginValue begins a parameter's value. Its kind comes from the tool's schema.
func (m *memberCall) beginValue(p *Parser) {
	name := string(m.name)
	m.from = len(p.run)
	if m.count++; m.count > 1 {
		p.emit(Arguments, ',')
	}
	p.emit(Arguments, appendString(nil, name)...)
	p.emit(Arguments, ':')
	delete(m.left, name)
	m.at, m.value = memberInValue,
		memberValue{syntax: m.syntax, name: name, left: m.left, kind: kindOf(m.tool.Parameters, name),
			nested: newNestedCall(p, m.syntax)}
}

func (m *memberCall) end(p *Parser, cut bool) {
	inTag := m.at == memberInName || memberInKey <= m.at && m.at <= memberAtText
	switch {
	case !m.called:
		m.finish(p, cut, true)
	case cut && m.at == memberInValue:
		m.value.cut(p)
	case cut && inTag: // it is not text
	case inTag:
		m.fail(p, m.head...)
		p.mode.end(p, cut)
	case m.at == memberInValue && m.value.nested.first != nil:
		m.readAgain(p)
		p.mode.end(p, cut)
	case m.at == memberInValue:
		m.fail(p, m.value.cut(p)...)
		p.mode.end(p, cut)
	case cut: // more parameters might have come
		if m.at == memberAfterValue {
			m.value.end(p)
		}
	default:
		if m.at == memberAfterValue {
			m.endValue(p)
		}
		if !m.inner { // else it has no end
			p.emit(Arguments, '}')
		}
	}
}
