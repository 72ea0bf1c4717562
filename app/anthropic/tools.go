package anthropic

import (
	"slices"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/wire"
)

// useTool is the one type of tool_choice with a name.
const useTool = "tool"

// toolUses are the types of tool_choice.
var toolUses = []string{"auto", "any", useTool, "none"}

// namelessUses returns the types of tool_choice without a name.
func namelessUses() []string {
	named := func(use string) bool { return use == useTool }
	return slices.DeleteFunc(slices.Clone(toolUses), named)
}

// readMessageTools reads tools and tool_choice in the form of templates. It leaves out tools of
// other types, which the vendor's servers or programs would run: the models here do not know them.
func readMessageTools(f *wire.Fields) (b api.Toolbox) {
	list := f.List("tools", "must be a list of objects.")
	if len(list) > api.MaxTools {
		f.Fail("tools", "may hold %d tools, not %d.", api.MaxTools, len(list))
		return api.Toolbox{}
	}
	for o := range f.Items("tools", list) {
		if kind := o.String("type"); kind == "" || kind == "custom" {
			addTool(&b, o)
		}
	}
	if f.Err() != nil {
		return api.Toolbox{}
	}
	if b.List != nil {
		b.List = append(b.List, ']')
	}
	o := f.Object("tool_choice")
	if o == nil {
		return b
	}
	mode := o.OneOf("type", toolUses)
	b.Single = o.Bool("disable_parallel_tool_use")
	b.Forced = mode == "any" || mode == useTool
	switch mode {
	case "":
		o.Fail("type", "is missing; it must be %s.", control.Words(toolUses))
	case "none":
		return api.Toolbox{}
	case useTool:
		b.Name = wire.NeededName(o)
	}
	if o.Err() == nil {
		b.Check(f, "tools", "tool_choice")
	}
	return b
}

// addTool appends a tool. Its schema keeps its spelling.
func addTool(b *api.Toolbox, o *wire.Fields) {
	t := dialect.Tool{Name: wire.NeededName(o), Strict: o.Bool("strict")}
	description := o.String("description")
	if wire.Needed(o, "input_schema") == nil {
		return
	}
	t.Parameters = o.Raw("input_schema")
	if b.List = append(b.List, ','); len(b.List) == 1 {
		b.List[0] = '['
	}
	b.List = wire.AppendString(append(b.List, `{"type":"function","function":{"name":`...), t.Name)
	if description != "" {
		b.List = wire.AppendString(append(b.List, `,"description":`...), description)
	}
	b.List = append(append(b.List, `,"parameters":`...), t.Parameters...)
	if t.Strict {
		b.List = append(b.List, `,"strict":true`...)
	}
	b.List = append(b.List, "}}"...)
	b.Tools = append(b.Tools, t)
}
