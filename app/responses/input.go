package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// A transcript makes turns of the items of a conversation.
type transcript struct{ api.Turns }

// system adds a text of the system. All texts before the first of another role are one message,
// because many templates have room for one.
func (t *transcript) system(text string) {
	t.Of("system").Say(api.Unbilled(text))
}

// Add reads an item. It skips an item of an unknown type, which belongs to a tool that is not
// offered here.
func (t *transcript) Add(f *wire.Fields) {
	switch kind := itemType(f); kind {
	case "message":
		t.message(f)
	case "reasoning":
		t.reasoning(f)
	case "function_call":
		t.Call(f)
	case "function_call_output":
		t.output(f)
	case "":
		f.Fail("type", "is missing.")
	}
}

// itemType returns the type of an item. A message or a reference may leave it out.
func itemType(f *wire.Fields) string {
	kind := f.String("type")
	switch {
	case kind != "" || f.Err != nil:
	case f.Raw("role") != nil:
		kind = "message"
	case f.Raw("id") != nil:
		kind = "item_reference"
	}
	return kind
}

var itemRoles = []string{"system", "developer", "user", "assistant"}

func (t *transcript) message(f *wire.Fields) {
	role := f.String("role")
	if f.Err == nil && !slices.Contains(itemRoles, role) {
		f.Fail("role", "is one of %s, not %q.", control.Word(strings.Join(itemRoles, ", ")), wire.Clip(role))
	}
	text := readTexts(f, "content")
	switch role {
	case "assistant":
		t.answer(stageText).Say(text)
	case "user":
		t.List = append(t.List, api.Turn{Role: role, Texts: []string{text}})
	default:
		t.system(text)
	}
}

// The stages of an answer, in their order. Items in another order are several answers.
const (
	stageThought = iota
	stageText
	stageCalls
)

// answer returns the model's turn for an item of that stage.
func (t *transcript) answer(stage int) *api.Turn {
	if n := len(t.List); n > 0 && t.List[n-1].Role == "assistant" {
		last := &t.List[n-1]
		if stage == stageCalls || last.Calls == nil && last.Texts == nil {
			return last
		}
	}
	t.List = append(t.List, api.Turn{Role: "assistant"})
	return &t.List[len(t.List)-1]
}

// reasoning reads a thought, in the model's words or as a summary. It skips encrypted content,
// which is another server's.
func (t *transcript) reasoning(f *wire.Fields) {
	text := readTexts(f, "content")
	if summary := readTexts(f, "summary"); text == "" {
		text = summary
	}
	if text != "" {
		last := t.answer(stageThought)
		last.Thoughts = append(last.Thoughts, text)
	}
}

// CallPrefix begins the id of a call for a client. Templates get the id without it, see api.Block.
const CallPrefix = "call_"

func templateID(id string) string {
	if bare, ok := strings.CutPrefix(id, CallPrefix); ok && len(bare) == api.CallID {
		return bare
	}
	return id
}

func (t *transcript) Call(f *wire.Fields) {
	id, name := f.String("call_id"), wire.NeededName(f)
	if space := f.String("namespace"); space != "" {
		name = flatName(space, name)
	}
	args := f.Raw("arguments")
	if args == nil {
		args = json.RawMessage(`"{}"`)
	} else if args[0] != '"' && args[0] != '{' {
		f.Fail("arguments", "must be a string.")
	}
	if f.Err != nil {
		return
	}
	b := wire.AppendString([]byte(`{"id":`), templateID(id))
	b = wire.AppendString(append(b, `,"type":"function","function":{"name":`...), name)
	b, err := api.AppendArguments(append(b, `,"arguments":`...), args)
	if err != nil {
		f.Fail("arguments", "must be a string.")
	}
	last := t.answer(stageCalls)
	last.Calls = append(last.Calls, append(b, "}}"...))
	t.Names[id] = name
}

func (t *transcript) output(f *wire.Fields) {
	id := f.String("call_id")
	if f.Err == nil && id == "" {
		f.Fail("call_id", "is missing.")
	}
	if f.Raw("output") == nil {
		f.Fail("output", "is missing.")
	}
	result := api.Turn{Role: "tool", ID: templateID(id), Name: t.Names[id]}
	result.Say(readTexts(f, "output"))
	t.List = append(t.List, result)
}

// partTypes are the types of the parts that are text.
var partTypes = []string{"input_text", "output_text", "text", "refusal", "reasoning_text", "summary_text"}

// readTexts joins the parts of an item's field, which may also be a string.
func readTexts(f *wire.Fields, key string) string {
	v := f.Raw(key)
	var text string
	if v == nil || json.Unmarshal(v, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(v, &parts) != nil {
		f.Fail(key, "must be a string or a list of parts.")
		return ""
	}
	var b strings.Builder
	for i, v := range parts {
		p, err := f.Item(key, i, v)
		if err != nil {
			f.Take(&wire.Fields{Err: err})
			return ""
		}
		kind, member := p.String("type"), "text"
		if kind == "refusal" {
			member = kind
		}
		switch {
		case p.Err != nil:
		case slices.Contains([]string{"input_image", "input_file", "input_audio", "computer_screenshot"}, kind):
			p.Fail("type", "%q is not supported: this endpoint takes text only.", kind)
		case !slices.Contains(partTypes, kind):
			p.Fail("type", "is one of %q, not %q.", partTypes[:2], wire.Clip(kind))
		case p.Raw(member) == nil:
			p.Fail(member, "is missing.")
		}
		b.WriteString(p.String(member))
		f.Take(p)
	}
	return b.String()
}
