package anthropic

import (
	"encoding/json"
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
	var all []api.Offered
	for o := range f.Items("tools", list) {
		if kind := o.String("type"); kind == "" || kind == "custom" {
			all = append(all, readTool(o))
		}
	}
	var chosen api.ToolChoice
	if o := f.Object("tool_choice"); o != nil {
		chosen.Mode = o.OneOf("type", toolUses)
		b.Single = o.Bool("disable_parallel_tool_use")
		switch chosen.Mode {
		case "":
			o.Fail("type", "is missing; it must be %s.", control.Words(toolUses))
		case "any":
			chosen.Mode = "required"
		case useTool:
			chosen.Mode, chosen.Name = "required", wire.NeededName(o)
		}
	}
	if f.Err() != nil {
		return api.Toolbox{}
	}
	return b.Choose(f, "tools", "tool_choice", all, chosen)
}

// readTool reads a tool. Its schema keeps its spelling.
func readTool(o *wire.Fields) api.Offered {
	t := dialect.Tool{Name: wire.NeededName(o), Strict: o.Bool("strict")}
	function := wire.Members{{Key: "name", Value: wire.Quote(t.Name)}}
	if description := o.String("description"); description != "" {
		function = append(function, wire.Member{Key: "description", Value: wire.Quote(description)})
	}
	wire.Needed(o, "input_schema")
	t.Parameters = o.Raw("input_schema")
	function = append(function, wire.Member{Key: "parameters", Value: t.Parameters})
	if t.Strict {
		function = append(function, wire.Member{Key: "strict", Value: json.RawMessage("true")})
	}
	entry := wire.Members{{Key: "type", Value: wire.Quote("function")},
		{Key: "function", Value: function.JSON()}}
	return api.Offered{Entry: entry.JSON(), Tool: t, Named: true}
}
