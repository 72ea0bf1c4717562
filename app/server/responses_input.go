package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/app/control"
)

// A transcript turns the items of a conversation into turns.
type transcript struct{ turns }

// system says something in the system's name. What it says before anybody else does
// is one message: many templates have room for one.
func (t *transcript) system(text string) {
	t.of("system").say(unbilled(text))
}

// add reads an item. One of a type that nothing is known of is of a tool that is not
// offered here, and is left out.
func (t *transcript) add(f *fields) {
	switch kind := itemType(f); kind {
	case "message":
		t.message(f)
	case "reasoning":
		t.reasoning(f)
	case "function_call":
		t.call(f)
	case "function_call_output":
		t.output(f)
	case "":
		f.fail("type", "is missing.")
	}
}

// itemType returns the type of an item, which may leave it out if it is a message or
// a reference.
func itemType(f *fields) string {
	kind := f.string("type")
	switch {
	case kind != "" || f.err != nil:
	case f.raw("role") != nil:
		kind = "message"
	case f.raw("id") != nil:
		kind = "item_reference"
	}
	return kind
}

var itemRoles = []string{"system", "developer", "user", "assistant"}

func (t *transcript) message(f *fields) {
	role := f.string("role")
	if f.err == nil && !slices.Contains(itemRoles, role) {
		f.fail("role", "is one of %s, not %q.", control.Word(strings.Join(itemRoles, ", ")), clip(role))
	}
	text := readTexts(f, "content")
	switch role {
	case "assistant":
		t.answer(stageText).say(text)
	case "user":
		t.list = append(t.list, turn{role: role, texts: []string{text}})
	default:
		t.system(text)
	}
}

// What an answer consists of, in this order. Items in another one are several answers.
const (
	stageThought = iota
	stageText
	stageCalls
)

// answer returns the model's turn that an item of that stage goes into.
func (t *transcript) answer(stage int) *turn {
	if n := len(t.list); n > 0 && t.list[n-1].role == "assistant" {
		last := &t.list[n-1]
		if stage == stageCalls || last.calls == nil && last.texts == nil {
			return last
		}
	}
	t.list = append(t.list, turn{role: "assistant"})
	return &t.list[len(t.list)-1]
}

// reasoning reads what the model thought: in its own words, or what was said of them.
// What is encrypted is another server's.
func (t *transcript) reasoning(f *fields) {
	text := readTexts(f, "content")
	if summary := readTexts(f, "summary"); text == "" {
		text = summary
	}
	if text != "" {
		last := t.answer(stageThought)
		last.thoughts = append(last.thoughts, text)
	}
}

// callPrefix begins the id of a call for a client. Templates get what is behind it,
// see block.
const callPrefix = "call_"

func templateID(id string) string {
	if bare, ok := strings.CutPrefix(id, callPrefix); ok && len(bare) == callID {
		return bare
	}
	return id
}

func (t *transcript) call(f *fields) {
	id, name := f.string("call_id"), neededName(f)
	if space := f.string("namespace"); space != "" {
		name = flatName(space, name)
	}
	args := f.raw("arguments")
	if args == nil {
		args = json.RawMessage(`"{}"`)
	} else if args[0] != '"' && args[0] != '{' {
		f.fail("arguments", "must be a string.")
	}
	if f.err != nil {
		return
	}
	b := appendString([]byte(`{"id":`), templateID(id))
	b = appendString(append(b, `,"type":"function","function":{"name":`...), name)
	b, err := appendArguments(append(b, `,"arguments":`...), args)
	if err != nil {
		f.fail("arguments", "must be a string.")
	}
	last := t.answer(stageCalls)
	last.calls = append(last.calls, append(b, "}}"...))
	t.names[id] = name
}

func (t *transcript) output(f *fields) {
	id := f.string("call_id")
	if f.err == nil && id == "" {
		f.fail("call_id", "is missing.")
	}
	if f.raw("output") == nil {
		f.fail("output", "is missing.")
	}
	result := turn{role: "tool", id: templateID(id), name: t.names[id]}
	result.say(readTexts(f, "output"))
	t.list = append(t.list, result)
}

// partTypes are those of the parts that are text.
var partTypes = []string{"input_text", "output_text", "text", "refusal", "reasoning_text", "summary_text"}

// readTexts joins the parts of an item's field, which may be a string.
func readTexts(f *fields, key string) string {
	v := f.raw(key)
	var text string
	if v == nil || json.Unmarshal(v, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(v, &parts) != nil {
		f.fail(key, "must be a string or a list of parts.")
		return ""
	}
	var b strings.Builder
	for i, v := range parts {
		p, err := parseFields(v, fmt.Sprintf("%s%s[%d].", f.path, key, i))
		if err != nil {
			f.take(&fields{err: err})
			return ""
		}
		kind, member := p.string("type"), "text"
		if kind == "refusal" {
			member = kind
		}
		switch {
		case p.err != nil:
		case slices.Contains([]string{"input_image", "input_file", "input_audio", "computer_screenshot"}, kind):
			p.fail("type", "%q is not supported: this endpoint takes text only.", kind)
		case !slices.Contains(partTypes, kind):
			p.fail("type", "is one of %q, not %q.", partTypes[:2], clip(kind))
		case p.raw(member) == nil:
			p.fail(member, "is missing.")
		}
		b.WriteString(p.string(member))
		f.take(p)
	}
	return b.String()
}
