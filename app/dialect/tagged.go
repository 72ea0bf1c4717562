package dialect

// tagged writes calls as JSON between tags of their own: <tool_call>{"name": "f", "arguments":
// {}}</tool_call>. So do Qwen2.5 and Qwen3 (the tokenizer_config.json of Qwen/Qwen2.5-7B-Instruct and
// Qwen/Qwen3-8B on the hub: "For each function call, return a json object with function name and
// arguments within <tool_call></tool_call> XML tags") and Hermes 2 Pro and later
// (github.com/NousResearch/Hermes-Function-Calling, README.md).
type tagged struct{}

var toolCall = tags{"<tool_call>", "</tool_call>"}

func (tagged) openers() []string { return []string{toolCall.open} }
func (tagged) special() []string { return []string{toolCall.close} }

func (tagged) open(p *Parser, opener string) {
	p.mode = &taggedCall{attempt: attempt{raw: []byte(opener), opener: len(opener)}}
}

// A taggedCall reads what is between the tags.
type taggedCall struct {
	attempt
	object object
}

func (t *taggedCall) read(p *Parser, c byte) {
	if !t.object.called && !t.hold(p, c) {
		return
	}
	switch t.object.read(p, c) {
	case ended:
		p.mode = &closing{tag: toolCall.close}
	case wrong:
		t.wrong(p, c, t.object)
	}
}

func (t *taggedCall) end(p *Parser, cut bool) {
	if !t.object.called {
		p.reject(t.raw, t.opener)
		p.mode.end(p, cut)
	}
}

// An attempt is a call that may turn out to be none.
type attempt struct {
	raw    []byte // up to the call's beginning
	opener int    // bytes of the opener, which raw begins with
}

// hold keeps a byte, or reports that it became too much.
func (a *attempt) hold(p *Parser, c byte) bool {
	a.raw = append(a.raw, c)
	if len(a.raw) > maxHeld {
		p.reject(a.raw, a.opener)
		return false
	}
	return true
}

// wrong goes on from a byte at which an object is none: where its arguments are whole, only its end
// is missing.
func (a *attempt) wrong(p *Parser, c byte, o object) {
	switch {
	case !o.called:
		p.reject(a.raw, a.opener)
		return
	case o.whole:
		p.mode = &closing{tag: toolCall.close}
	default:
		p.toText(false)
	}
	p.mode.read(p, c)
}

// closing reads the tag that closes a call, and the white space before it. If it isn't there,
// nothing is missed.
type closing struct {
	tag  string
	held []byte
	in   int // bytes of the tag in held
}

func (m *closing) read(p *Parser, c byte) {
	m.held = append(m.held, c)
	switch {
	case c == m.tag[m.in]:
		if m.in++; m.in == len(m.tag) {
			p.toText(true)
		}
	case m.in > 0 || !isSpace(c) || len(m.held) > maxSpace:
		p.toText(true)
		for _, c := range m.held {
			p.mode.read(p, c)
		}
	}
}

func (m *closing) end(p *Parser, cut bool) { p.toText(true) }
