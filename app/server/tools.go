package server

import (
	"encoding/json"
	"slices"

	"tandem/app/dialect"
)

// maxTools bounds the tools of a request. Agents bring some hundreds.
const maxTools = 2000

// A toolbox is what a request offers the model to call, and how the model is to
// choose. The zero value offers nothing.
type toolbox struct {
	list      json.RawMessage // for the template, as the client wrote it; nil for none
	tools     []dialect.Tool  // of these, what has a name
	forced    bool            // the answer must be a call
	name      string          // of the one tool it must be of; empty for any
	single    bool            // one call at most
	functions bool            // the client used the older form, and is answered in it
}

// readTools reads tools and tool_choice, or functions and function_call, which is
// their older form.
func readTools(f *fields) (b toolbox) {
	list, choice := "tools", "tool_choice"
	if f.raw(list) == nil && f.raw("functions") != nil {
		list, choice = "functions", "function_call"
		b.functions, b.single = true, true
	}
	if parallel := optional(f, "parallel_tool_calls", f.bool); parallel != nil && !*parallel {
		b.single = true
	}
	entries := readToolList(f, list)
	chosen := readToolChoice(f, choice)
	if f.err != nil {
		return toolbox{}
	}
	all := make([]offered, len(entries))
	for i, entry := range entries {
		all[i].entry = entry
		all[i].tool, all[i].named = namedTool(entry)
	}
	return b.choose(f, list, choice, all, chosen)
}

// An offered is a tool that a request offers.
type offered struct {
	entry json.RawMessage // for the template
	tool  dialect.Tool
	named bool // it can be called
}

// choose adds the tools among which a choice leaves the model to choose. list and
// choice name the fields they are of.
func (b toolbox) choose(f *fields, list, choice string, all []offered, chosen toolChoice) toolbox {
	if chosen.mode == "none" {
		return toolbox{}
	}
	for _, o := range all {
		if chosen.allowed != nil && !(o.named && slices.Contains(chosen.allowed, o.tool.Name)) {
			continue
		}
		if b.list = append(b.list, ','); len(b.list) == 1 {
			b.list[0] = '['
		}
		b.list = append(b.list, o.entry...)
		if o.named {
			b.tools = append(b.tools, o.tool)
		}
	}
	if b.list != nil {
		b.list = append(b.list, ']')
	}
	b.forced, b.name = chosen.mode == "required", chosen.name
	b.check(f, list, choice)
	return b
}

// check sees that what must be called is there; list and choice are the fields' names.
func (b *toolbox) check(f *fields, list, choice string) {
	known := func(name string) bool {
		return slices.ContainsFunc(b.tools, func(t dialect.Tool) bool { return t.Name == name })
	}
	switch {
	case b.forced && len(b.tools) == 0:
		f.fail(choice, "asks for a call, and %s offers nothing to call.", list)
	case b.name != "" && !known(b.name):
		f.fail(choice, "names %q, which is not in %s.", clip(b.name), list)
	}
}

// readToolList returns the tools as the client wrote them, functions in the form
// of tools.
func readToolList(f *fields, key string) []json.RawMessage {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil {
		f.fail(key, "must be a list of objects.")
		return nil
	}
	if len(list) > maxTools {
		f.fail(key, "may hold %d tools, not %d.", maxTools, len(list))
		return nil
	}
	for i, entry := range list {
		if len(entry) == 0 || entry[0] != '{' {
			f.fail(key, "must be a list of objects.")
			return nil
		}
		if key == "functions" {
			list[i] = slices.Concat(json.RawMessage(`{"type":"function","function":`), entry, json.RawMessage(`}`))
		}
	}
	return list
}

// namedTool returns what can be called by an entry of tools, if it has a name.
func namedTool(entry json.RawMessage) (t dialect.Tool, ok bool) {
	var v struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
			Strict     bool            `json:"strict"`
		} `json:"function"`
	}
	if json.Unmarshal(entry, &v) != nil || v.Function.Name == "" {
		return t, false
	}
	fn := v.Function
	return dialect.Tool{Name: fn.Name, Parameters: fn.Parameters, Strict: fn.Strict}, true
}

// A toolChoice says which calls an answer may be.
type toolChoice struct {
	mode    string   // "auto", "none" or "required"
	name    string   // of the one tool, under required
	allowed []string // names; nil for all
}

// toolChoices are the words of tool_choice. The last is another server's for the
// one before it.
var toolChoices = []string{"none", "auto", "required", "any"}

// readChoiceWord reads a choice that is a word, or left out; otherwise it returns the
// object that it is, to be read and taken by f.
func readChoiceWord(f *fields, key string) (c toolChoice, o *fields) {
	c.mode = "auto"
	switch v := f.raw(key); {
	case v == nil:
		return c, nil
	case v[0] != '"':
		return c, f.object(key)
	}
	if c.mode = f.oneOf(key, toolChoices); c.mode == "any" {
		c.mode = "required"
	}
	return c, nil
}

func readToolChoice(f *fields, key string) toolChoice {
	c, o := readChoiceWord(f, key)
	if o == nil {
		return c
	}
	defer f.take(o)
	kind := o.string("type")
	if key == "function_call" { // {"name"}
		kind = "name"
	}
	switch kind {
	case "name":
		c.mode, c.name = "required", neededName(o)
	case "function":
		c.mode = "required"
		if fn := needed(o, "function"); fn != nil {
			c.name = neededName(fn)
			o.take(fn)
		}
	case "allowed_tools":
		if a := needed(o, "allowed_tools"); a != nil {
			c.mode, c.allowed = readAllowed(a)
			o.take(a)
		}
	default:
		o.fail("type", "is \"function\" or \"allowed_tools\", not %q.", clip(kind))
	}
	return c
}

// readAllowed reads a choice among some of the tools.
func readAllowed(f *fields) (mode string, names []string) {
	mode = f.oneOf("mode", []string{"auto", "required"})
	if mode == "" {
		mode = "auto"
	}
	names = []string{}
	for _, entry := range readToolList(f, "tools") {
		t, ok := namedTool(entry)
		if !ok {
			f.fail("tools", "is a list of {\"type\": \"function\", \"function\": {\"name\"}}.")
		}
		names = append(names, t.Name)
	}
	return mode, names
}
