package responses

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// saySystem adds a text of the system to the system message before it, if there is one: many templates
// have room for one.
func (c *responseRequest) saySystem(text string) {
	c.Of("system").Say(api.StripBillingHeader(text))
}

// addItem reads an item. It skips an item of an unknown type, which belongs to a tool that is not
// offered here.
func (c *responseRequest) addItem(f *wire.Fields) {
	f.Omitted = new(error)
	switch kind := itemType(f); kind {
	case "message":
		c.addMessage(f)
	case "reasoning":
		c.addReasoning(f)
	case "function_call":
		c.addCall(f)
	case "function_call_output":
		c.addOutput(f)
	case compactionItem:
		c.addCompaction(f)
	case "":
		f.Fail("type", "is missing.")
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
	if text != "" {
		c.answer(stageThought).Think(text)
	}
}

func (c *responseRequest) addCall(f *wire.Fields) {
	id, name := f.String("call_id"), wire.NeededName(f)
	if space := f.String("namespace"); space != "" {
		name = flatName(space, name)
	}
	args := f.Raw("arguments")
	if args != nil && args[0] != '"' && args[0] != '{' {
		f.Fail("arguments", "must be a string.")
	}
	if f.Err() != nil {
		return
	}
	c.answer(stageCalls).Call(api.TemplateID(id), name, args)
	c.Called[id] = name
}

func (c *responseRequest) addOutput(f *wire.Fields) {
	id := wire.NeededString(f, "call_id")
	if f.Raw("output") == nil {
		f.Fail("output", "is missing.")
	}
	result := api.NewResult(api.TemplateID(id), c.Called[id])
	result.Say(api.ReadContent(f, "output", nil))
	c.Messages = append(c.Messages, result)
}
