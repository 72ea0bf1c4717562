package responses

import (
	"cmp"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// saySystem adds a text of the system to the system message before it, if there is one: many templates
// have room for one.
func (c *responseRequest) saySystem(text string) {
	c.Of("system").Say(api.StripBillingHeader(text))
}

// addItem reads an item. It skips an item of another type, such as those of tools that OpenAI's servers
// run, unless that is a message, a call or a result.
func (c *responseRequest) addItem(f *wire.Fields) {
	f.Omitted = &wire.Omissions{TextPart: "input_text"}
	c.readItem(f, itemType(f))
	if n := len(c.Messages); n > 0 && f.Omitted.Kinds != nil {
		c.Messages[n-1].Omits(f.Omitted)
	}
}

func (c *responseRequest) readItem(f *wire.Fields, kind string) {
	if k := kindBy((*toolKind).callType, kind); k != nil && f.Err() == nil {
		c.addCall(f, k)
		return
	}
	if k := kindBy((*toolKind).outputType, kind); k != nil && f.Err() == nil {
		c.addOutput(f, k)
		return
	}
	switch kind {
	case "message":
		c.addMessage(f)
	case thoughtItem:
		c.addReasoning(f)
	case compactionItem:
		c.addCompaction(f)
	case additionalTools:
		c.offers.add(f)
	case compactionTrigger:
		f.Fail("type", "%q is not supported: send the input without it to /v1/responses/compact.",
			control.Word(kind))
	case "":
		if f.Raw("content") != nil { // a message is one without a type
			f.FailMissing("role")
		}
		f.FailMissing("type")
	default:
		if api.IsPart(kind) {
			f.Fail("type", "%q is the type of a part; send it in the content of a message.", control.Word(kind))
			return
		}
		if !isServed(kind) && (f.Raw("role") != nil || f.Raw("call_id") != nil) {
			f.Fail("type", "%q is not known here; leave this item out, or send it as a message, a function_call "+
				"or a function_call_output.", wire.Clip(kind))
		}
		c.skip(kind)
	}
}

// itemType returns the type of an item. A message or a reference may leave it out.
func itemType(f *wire.Fields) string {
	kind := f.String("type")
	switch {
	case kind != "" || f.Err() != nil:
	case f.Raw("role") != nil:
		kind = "message"
	case f.Raw("id") != nil:
		kind = "item_reference"
	}
	return kind
}

func (c *responseRequest) addMessage(f *wire.Fields) {
	role := f.NeededWord("role")
	if f.Raw("content") == nil {
		f.FailMissing("content")
		return
	}
	if role == "assistant" {
		think := func(text string) {
			if text != "" {
				c.answer(stageThought).Think(text)
			}
		}
		text := api.ReadContent(f, "content", think)
		answer := c.answer(stageText)
		answer.Say(text)
		answer.Say(api.ReadMedia(f))
		return
	}
	m := api.Message{Role: role}
	m.Say(api.ReadContent(f, "content", nil))
	m.Say(api.ReadMedia(f))
	switch role {
	case "user":
		c.Messages = append(c.Messages, m)
	default:
		c.saySystem(m.Text())
	}
}

// The stages of an answer, in their order. Items in another order are several answers.
const (
	stageThought = iota
	stageText
	stageCalls
)

// answer returns the model's message for an item of that stage.
func (c *responseRequest) answer(stage int) *api.Message {
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Role == "assistant" {
		last := &c.Messages[n-1]
		if stage == stageCalls || last.Calls == nil && last.Texts == nil {
			return last
		}
	}
	c.Messages = append(c.Messages, api.Message{Role: "assistant"})
	return &c.Messages[len(c.Messages)-1]
}

// addReasoning reads a thought, in the model's words or as a summary. It skips encrypted content,
// which is another server's.
func (c *responseRequest) addReasoning(f *wire.Fields) {
	text := api.ReadContent(f, "content", nil)
	if summary := api.ReadContent(f, "summary", nil); text == "" {
		text = summary
	}
	switch {
	case text != "":
		c.answer(stageThought).Think(text)
	case f.String("encrypted_content") != "" || f.Omitted.Kinds != nil:
		f.Omitted.Kinds = nil // they are in no message
		c.skip(thoughtItem)
	}
}

// Types of items. The first two bring tools.
const (
	additionalTools = "additional_tools"
	foundTools      = "tool_search_output"
	thoughtItem     = "reasoning"
)

// skip notes the type of an item that is skipped.
func (c *responseRequest) skip(kind string) { c.skipped = append(c.skipped, kind) }

// servedItems are the types of items that only OpenAI's servers read, such as those of tools that they run.
var servedItems = []string{"file_search_call", "web_search_call", "image_generation_call", "code_interpreter_call",
	"mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output",
	"configuration_update"}

// isServed reports whether items of a type may be for OpenAI's servers alone.
func isServed(kind string) bool {
	return kind == compactionItem || kind == thoughtItem || slices.Contains(servedItems, kind)
}

func (c *responseRequest) addCall(f *wire.Fields, k *toolKind) {
	id, name := f.String("call_id"), k.name
	if name == "" {
		name = readName(f)
	}
	args := k.readArguments(f)
	if f.Err() != nil {
		return
	}
	c.answer(stageCalls).Call(api.TemplateID(id), name, args)
	c.Called[id] = name
}

func (c *responseRequest) addOutput(f *wire.Fields, k *toolKind) {
	id := f.String("call_id")
	switch {
	case id != "" || k.tool == "tool_search": // OpenAI's servers search without an id
	case k.tool == "local_shell" && f.String("id") != "": // the id of the call, by OpenAI's description
		id = f.String("id")
	default:
		wire.NeededString(f, "call_id")
	}
	var text string
	switch {
	case k.tool == "tool_search":
		text = c.found(f)
	case f.Raw("output") == nil && k.tool != "apply_patch":
		f.FailMissing("output")
	case k.result != nil:
		text = k.result(f)
	default:
		text = api.ReadContent(f, "output", nil)
	}
	result := api.NewResult(api.TemplateID(id), cmp.Or(c.Called[id], k.name))
	result.Say(text)
	result.Say(api.ReadMedia(f))
	c.Messages = append(c.Messages, result)
}

// found offers the tools that a search found, and returns what the model is told of them.
func (c *responseRequest) found(f *wire.Fields) string {
	_, names := c.offers.add(f)
	if names == nil {
		return "No more tools were found."
	}
	return "These tools can be called now: " + strings.Join(names, ", ") + "."
}
