package server

import (
	"encoding/json"
	"fmt"

	"tandem/app/dialect"
)

// toolUses are the types of tool_choice.
var toolUses = []string{"auto", "any", "tool", "none"}

// readMessageTools reads tools and tool_choice, as templates have them. What the
// vendor's own servers or a program of its own would do, which has another type, is
// nothing that a model here knows.
func readMessageTools(f *fields) (b toolbox) {
	var list []json.RawMessage
	if v := f.raw("tools"); v != nil && json.Unmarshal(v, &list) != nil {
		f.fail("tools", "must be a list of objects.")
	}
	if len(list) > maxTools {
		f.fail("tools", "may hold %d tools, not %d.", maxTools, len(list))
		return toolbox{}
	}
	for i, v := range list {
		o, err := parseFields(v, fmt.Sprintf("tools[%d].", i))
		if err != nil {
			f.take(&fields{err: err})
			return toolbox{}
		}
		if kind := o.string("type"); kind == "" || kind == "custom" {
			addTool(&b, o)
		}
		if f.take(o); f.err != nil {
			return toolbox{}
		}
	}
	if b.list != nil {
		b.list = append(b.list, ']')
	}
	o := f.object("tool_choice")
	if o == nil {
		return b
	}
	defer f.take(o)
	mode := o.oneOf("type", toolUses)
	b.single = o.bool("disable_parallel_tool_use")
	b.forced = mode == "any" || mode == "tool"
	switch mode {
	case "":
		o.fail("type", "is missing; it is one of %q.", toolUses)
	case "none":
		return toolbox{}
	case "tool":
		b.name = neededName(o)
	}
	if o.err == nil {
		b.check(f, "tools", "tool_choice")
	}
	return b
}

// addTool appends a tool, whose schema keeps its spelling.
func addTool(b *toolbox, o *fields) {
	t := dialect.Tool{Name: neededName(o), Strict: o.bool("strict")}
	description := o.string("description")
	if needed(o, "input_schema") == nil {
		return
	}
	t.Parameters = o.raw("input_schema")
	if b.list = append(b.list, ','); len(b.list) == 1 {
		b.list[0] = '['
	}
	b.list = appendString(append(b.list, `{"type":"function","function":{"name":`...), t.Name)
	if description != "" {
		b.list = appendString(append(b.list, `,"description":`...), description)
	}
	b.list = append(append(b.list, `,"parameters":`...), t.Parameters...)
	if t.Strict {
		b.list = append(b.list, `,"strict":true`...)
	}
	b.list = append(b.list, "}}"...)
	b.tools = append(b.tools, t)
}
