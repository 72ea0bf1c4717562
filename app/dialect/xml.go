package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// xml writes calls as Qwen3-Coder and Qwen3.5 do (chat_template of Qwen/Qwen3-Coder-30B-A3B-Instruct
// on the hub; github.com/vllm-project/vllm, examples/tool_chat_template_qwen3coder.jinja and
// vllm/tool_parsers/qwen3coder_tool_parser.py):
//
//	<tool_call>
//	<function=NAME>
//	<parameter=KEY>
//	VALUE
//	</parameter>
//	</function>
//	</tool_call>
//
// A line's end behind <parameter=KEY> and one before </parameter> belong to the tags. What a value
// is the tool's schema says, see kindOf. A value may hold </parameter> itself: it ends at one that
// another parameter or the end of the call follows.
type xml struct{}

func (xml) openers() []string { return []string{toolCall.open} }
func (xml) special() []string { return []string{toolCall.close} }
func (xml) bare() string      { return "" }

func (xml) open(p *Parser, opener string) {
	p.mode = &xmlCall{attempt: attempt{raw: []byte(opener), opener: len(opener)}}
}

const (
	xmlFunction  = "<function="
	xmlParameter = "<parameter="
	xmlEnd       = "</function>"
	xmlValueEnd  = "</parameter>"
	maxName      = 256 // bytes of a tool's name or a parameter's
)

var (
	xmlFirst     = []string{xmlFunction}
	xmlMembers   = []string{xmlParameter, xmlEnd, toolCall.close}
	xmlValueEnds = []string{xmlValueEnd, "\n" + xmlValueEnd}
)

// An xmlCall reads one call.
type xmlCall struct {
	attempt
	at    xmlPlace
	look  lookout
	name  []byte // of the tool, then of the parameter, being read
	tool  Tool
	count int // of parameters
	value xmlValue
	last  string // the tag that may have ended the value
}

type xmlPlace int

const (
	xmlAtFunction xmlPlace = iota
	xmlInName
	xmlAtMember
	xmlInKey
	xmlInValue
	xmlBehindValue
)

func (x *xmlCall) read(p *Parser, c byte) {
	if !x.hold(p, c) {
		return
	}
	switch x.at {
	case xmlAtFunction:
		tag, ok := x.look.read(c, xmlFirst)
		if !ok {
			x.wrong(p)
		} else if tag != "" {
			x.at = xmlInName
		}
	case xmlInName, xmlInKey:
		x.named(p, c)
	case xmlAtMember:
		if tag, ok := x.look.read(c, xmlMembers); !ok {
			x.wrong(p, x.look.held...)
		} else if tag != "" {
			x.member(p, tag)
		}
	case xmlInValue:
		if x.last = x.value.read(p, c); x.last != "" {
			x.at = xmlBehindValue
		}
	case xmlBehindValue:
		tag, ok := x.look.read(c, xmlMembers)
		if !ok {
			x.at = xmlInValue
			for _, c := range []byte(x.last) {
				x.value.plain(p, c)
			}
			held := x.look.held
			x.look = lookout{}
			p.again(held)
		} else if tag != "" {
			x.value.end(p)
			x.member(p, tag)
		}
	}
}

// named reads a name, up to the end of its tag.
func (x *xmlCall) named(p *Parser, c byte) {
	if c != '>' && c != '<' && c != '\n' && len(x.name) < maxName {
		x.name = append(x.name, c)
		return
	}
	name := string(x.name)
	if c != '>' || name == "" {
		x.wrong(p, append([]byte(xmlParameter+name), c)...)
		return
	}
	x.name = x.name[:0]
	if x.at == xmlInName {
		x.at, x.tool = xmlAtMember, p.tools[name]
		x.begin(p, name)
		p.emit(Arguments, '{')
		return
	}
	if x.count++; x.count > 1 {
		p.emit(Arguments, ',')
	}
	p.emit(Arguments, appendString(nil, name)...)
	p.emit(Arguments, ':')
	x.at, x.value = xmlInValue, xmlValue{kind: kindOf(x.tool.Parameters, name)}
}

// member goes on behind a tag that begins a parameter, or ends the call.
func (x *xmlCall) member(p *Parser, tag string) {
	if tag == xmlParameter {
		x.at = xmlInKey
		return
	}
	p.emit(Arguments, '}')
	if p.closing(); tag == xmlEnd {
		p.closing(toolCall.close)
	}
}

func (x *xmlCall) end(p *Parser, cut bool) {
	switch {
	case !x.called:
		x.reject(p)
		p.mode.end(p, cut)
	case x.at == xmlInKey:
		x.wrong(p, append([]byte(xmlParameter), x.name...)...)
		p.mode.end(p, cut)
	case x.at == xmlInValue:
		x.wrong(p, x.value.cut(p)...)
		p.mode.end(p, cut)
	case cut && !x.look.begun(): // there may have been more
		if x.at == xmlBehindValue {
			x.value.end(p)
		}
	default:
		if x.at == xmlBehindValue {
			x.value.end(p)
		}
		p.emit(Arguments, '}')
	}
}

// An xmlValue reads one parameter's value.
type xmlValue struct {
	kind   kind
	behind bool   // the line's end that belongs to the tag
	quoted bool   // it is a string, of which the beginning has been passed on
	text   []byte // held back until it is clear what it is
	held   []byte // that may belong to the tag at the end
}

// read takes the next byte and returns the tag that ends the value, if it is whole.
func (v *xmlValue) read(p *Parser, c byte) (tag string) {
	if !v.behind {
		if v.behind = true; c == '\n' {
			return ""
		}
	}
	for v.held = append(v.held, c); len(v.held) > 0; v.held = v.held[1:] {
		if text, whole := match(v.held, xmlValueEnds); whole {
			v.held = nil
			return text
		} else if text != "" {
			return ""
		}
		v.plain(p, v.held[0])
	}
	v.held = nil
	return ""
}

// plain takes a byte of the value.
func (v *xmlValue) plain(p *Parser, c byte) {
	if v.quoted {
		p.run = appendEscaped(p.run, c)
		return
	}
	v.text = append(v.text, c)
	if v.kind == kindText || v.kind == kindNullable && !mayBeNull(v.text) || len(v.text) > maxHeld {
		v.quote(p)
	}
}

// quote passes on what was held as the beginning of a string.
func (v *xmlValue) quote(p *Parser) {
	p.emit(Arguments, '"')
	for _, c := range v.text {
		p.run = appendEscaped(p.run, c)
	}
	v.text, v.quoted = nil, true
}

// end passes on what is left of a value that is whole.
func (v *xmlValue) end(p *Parser) {
	if !v.quoted && v.kind != kindText {
		if text, ok := typed(v.text, v.kind); ok {
			p.emit(Arguments, text...)
			return
		}
	}
	if !v.quoted {
		v.quote(p)
	}
	p.emit(Arguments, '"')
}

// cut passes on what is left of one that is not, and returns what no string has begun with.
func (v *xmlValue) cut(p *Parser) []byte {
	if !v.quoted {
		return append(v.text, v.held...)
	}
	for _, c := range v.held {
		v.plain(p, c)
	}
	return nil
}

func (xml) grammar(g *grammar) {
	call := g.each("call", func(t Tool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", g.token(toolCall.open), quote("\n"+xmlFunction+t.Name+">\n"))
		for _, property := range g.properties(t, func(name string) bool { return len(name) <= maxName && !strings.ContainsAny(name, "<>\n") }) {
			value := g.xmlValue(property)
			if !property.required {
				fmt.Fprintf(&b, ` (%s %s)?`, quote(xmlParameter+property.name+">\n"), value)
				continue
			}
			fmt.Fprintf(&b, ` %s %s`, quote(xmlParameter+property.name+">\n"), value)
		}
		fmt.Fprintf(&b, " %s %s", quote(xmlEnd+"\n"), g.token(toolCall.close))
		return b.String()
	})
	g.rule("calls", "%s", g.several(call, quote("\n")))
}

// xmlValue returns the rule of a parameter's value and the tag behind it.
func (g *grammar) xmlValue(p property) string {
	if p.kind == kindText && p.texts != nil {
		var list []string
		for _, text := range p.texts {
			list = append(list, quote(text+"\n"+xmlValueEnd+"\n"))
		}
		return "(" + strings.Join(list, " | ") + ")"
	}
	if p.kind == kindText || p.kind == kindNullable {
		return g.until("\n" + xmlValueEnd + "\n")
	}
	return g.schema(p.schema, p.strict) + " " + quote("\n"+xmlValueEnd+"\n")
}

// mayBeNull reports whether a text is null so far.
func mayBeNull(text []byte) bool {
	return len(text) <= len("null") && (bytes.HasPrefix([]byte("null"), text) || bytes.HasPrefix([]byte("None"), text))
}

// typed returns the JSON of a value that is no string by its type, or false if it is one after all.
// The templates write true, false, null and lists as Python does.
func typed(text []byte, k kind) ([]byte, bool) {
	text = bytes.TrimSpace(text)
	switch string(text) {
	case "None":
		return []byte("null"), true
	case "True":
		return []byte("true"), k != kindNullable
	case "False":
		return []byte("false"), k != kindNullable
	}
	if k == kindNullable {
		return text, string(text) == "null"
	}
	if json.Valid(text) {
		return text, true
	}
	return pythonList(text)
}
