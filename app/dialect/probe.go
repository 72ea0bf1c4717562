package dialect

import (
	"encoding/json"
	"strings"
)

// FindHistory returns the form in which a chat template takes earlier messages, for conversations with
// tools or without. render prints a template's variables, a JSON object.
func (d *Dialect) FindHistory(tools bool, render func(vars []byte) (string, error)) History {
	form, p := d.findForm(tools, render)
	broken := p
	broken.broken = true
	form.AnyArguments = form.AnyArguments || broken.shows(form, render)
	p.null = p.tools
	form.WithoutNull = p.null && !p.shows(form, render)
	return form
}

// findForm returns the form of earlier messages and a probe in which the template shows it, or the
// usual form.
func (d *Dialect) findForm(tools bool, render func(vars []byte) (string, error)) (History, probe) {
	forms := d.Histories()
	for _, python := range []bool{false, true} {
		for _, system := range []bool{false, true} { // some templates want one first
			p := probe{tools: tools, system: system, python: python}
			for _, form := range forms {
				if !p.shows(form, render) {
					continue
				}
				p.text = true
				if apart := form; !p.shows(form, render) {
					if apart.SeparateText = true; p.shows(apart, render) {
						return apart, p
					}
					p.text = false
				}
				return form, p
			}
		}
	}
	return forms[0], probe{}
}

// A probe is a conversation in which the model has called a tool. With a text beside the call it goes
// on: the model calls once more, answers, and is asked again. For a text in a message of its own may
// count as a turn.
type probe struct {
	tools  bool // it offers tools
	system bool // it begins with a system message
	python bool // arguments may be printed as Python prints them
	text   bool // a text stands beside the call
	null   bool // a parameter may be null
	broken bool // the arguments are a string whose JSON is broken
}

// Marks of a probe. No template prints them of itself.
const (
	probeTool  = "tandemtool"
	probeValue = "tandemvalue"
	probeText  = "tandemtext"

	probeBroken = `{"key":"` + probeValue
)

// shows reports whether a template prints a call of an earlier turn in that form: the name, the
// arguments, and a text beside it if there is one.
func (p probe) shows(form History, render func(vars []byte) (string, error)) bool {
	vars, err := json.Marshal(p.vars(form))
	if err != nil {
		return false
	}
	printed, err := render(vars)
	if p.broken && !strings.Contains(strings.ReplaceAll(printed, `\`, ""), probeBroken) { // in a string of JSON, too
		return false
	}
	return err == nil && (p.python || !strings.Contains(printed, "'"+probeValue+"'")) && strings.Contains(printed, probeTool) &&
		strings.Contains(printed, probeValue) && (!p.text || strings.Contains(printed, probeText))
}

// vars returns the variables of the conversation in that form.
func (p probe) vars(form History) any {
	type object = map[string]any
	const id = "abcdefgh1" // Mistral's templates want nine letters and digits
	function := object{"name": probeTool, "arguments": object{"key": probeValue}}
	switch {
	case p.broken:
		function["arguments"] = probeBroken
	case form.TextArguments:
		function["arguments"] = probeBroken + `"}`
	}
	call := object{"role": "assistant", "content": "", "tool_calls": []any{object{
		"id": id, "type": "function", "function": function,
	}}}
	var messages []any
	if p.system {
		messages = append(messages, object{"role": "system", "content": "1"})
	}
	messages = append(messages, object{"role": "user", "content": "1"})
	switch {
	case p.text && form.SeparateText:
		messages = append(messages, object{"role": "assistant", "content": probeText})
		fallthrough
	case !p.text:
		if form.NullContent {
			call["content"] = nil
		}
	default:
		call["content"] = probeText
	}
	if form.Written != (WrittenCalls{}) {
		delete(call, "tool_calls")
		text := []byte(call["content"].(string))
		call["content"] = string(form.Written.Append(text, CallObject(probeTool, []byte(`{"key":"`+probeValue+`"}`))))
	}
	messages = append(messages, call,
		object{"role": "tool", "tool_call_id": id, "name": probeTool, "content": "2"})
	if p.text {
		first := 1
		if p.system {
			first = 2
		}
		messages = append(append(messages, messages[first:]...),
			object{"role": "assistant", "content": "3"}, object{"role": "user", "content": "4"})
	}
	vars := object{"messages": messages, "add_generation_prompt": true}
	if p.tools {
		key := object{"type": "string", "description": "1"}
		if p.null {
			key["type"] = []string{"string", "null"}
		}
		function := object{"name": "other", "description": "1", "parameters": object{"type": "object",
			"properties": object{"key": key}, "required": []string{"key"}}}
		vars["tools"] = []any{object{"type": "function", "function": function}}
		if form.Functions != "" {
			vars[form.Functions] = []any{function}
		}
	}
	return vars
}
