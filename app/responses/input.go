package responses

import (
	"cmp"
	"regexp"
	"strings"

	"tandem/app/api"
	"tandem/app/wire"
)

// saySystem adds a text of the system to the system message before it, if there is one: many templates
// have room for one.
func (c *responseRequest) saySystem(text string) {
	c.Of("system").Say(api.StripBillingHeader(text))
}

// addItem reads an item. It skips an item of another type, which belongs to a tool that OpenAI's
// servers run.
func (c *responseRequest) addItem(f *wire.Fields) {
	f.Omitted = new(error)
	kind := itemType(f)
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
	case "reasoning":
		c.addReasoning(f)
	case compactionItem:
		c.addCompaction(f)
	case additionalTools:
		c.offers.add(f)
	case compactionTrigger:
		f.Fail("type", "%q is not supported: send the input without it to /v1/responses/compact.", kind)
	case "":
		f.Fail("type", "is missing.")
	default:
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
	if role == "assistant" {
		think := func(text string) {
			if text != "" {
				c.answer(stageThought).Think(text)
			}
		}
		text := api.ReadContent(f, "content", think)
		c.answer(stageText).Say(text)
		return
	}
	text := api.ReadContent(f, "content", nil)
	switch role {
	case "user":
		m := api.NewMessage(role, text)
		m.Omitted = f.Omitted
		c.Messages = append(c.Messages, m)
	default:
		c.saySystem(text)
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
	case f.String("encrypted_content") != "":
		c.skip("reasoning")
	}
}

// Types of items that bring tools.
const (
	additionalTools = "additional_tools"
	foundTools      = "tool_search_output"
)

// skip notes the type of an item that is skipped.
func (c *responseRequest) skip(kind string) {
	if !elsewhere.MatchString(kind) {
		kind = "of unknown types"
	}
	c.skipped = append(c.skipped, kind)
}

// elsewhere matches the types of items that OpenAI's servers write, such as those of tools that they run.
var elsewhere = regexp.MustCompile("^(compaction|reasoning|file_search_call|web_search_call|" +
	"image_generation_call|code_interpreter_call|mcp_(approval_request|approval_response|call|list_tools)|program|program_output|configuration_update)$")

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
		f.Fail("output", "is missing.")
	case k.result != nil:
		text = k.result(f)
	default:
		text = api.ReadContent(f, "output", nil)
	}
	result := api.NewResult(api.TemplateID(id), cmp.Or(c.Called[id], k.name))
	result.Say(text)
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
