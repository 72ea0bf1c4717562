package anthropic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// toolList gathers the tools of a request: those of tools, and those that messages add.
type toolList struct {
	all    []messageTool
	served []string // types of those that Anthropic's servers run

	// changed has the names of tools that messages made available (true) or withdrew. The model gets
	// one list for the whole conversation, so the last change counts.
	changed map[string]bool
}

// A messageTool is a tool that the client runs.
type messageTool struct {
	api.Offered
	deferred bool // until a tool_reference names it, or a call
}

// isNamed reports whether a tool has the name of t.
func (t messageTool) isNamed(tool messageTool) bool { return tool.Tool.Name == t.Tool.Name }

// readTools reads tools and tool_choice in the form of templates.
func (c *messagesRequest) readTools(f *wire.Fields) (b api.Toolbox) {
	api.RefuseFunctions(f)
	added := c.tools.all
	c.tools.all = nil
	list := f.List("tools", "must be a list of objects.")
	if n := len(list) + len(added); n > api.MaxTools {
		f.Fail("tools", "may hold %d tools, not %d.", api.MaxTools, n)
		return api.Toolbox{}
	}
	for o := range f.Items("tools", list) {
		had := c.tools.all
		if t := c.tools.read(o); t != nil && slices.ContainsFunc(had, t.isNamed) { // Anthropic refuses it too
			api.FailTwin(o, t.Tool.Name)
		}
	}
	for _, t := range added { // it takes the place of one that tools has
		c.tools.all = append(slices.DeleteFunc(c.tools.all, t.isNamed), t)
	}
	if servers := f.List("mcp_servers", "must be a list of objects."); len(servers) > 0 {
		c.tools.served = append(c.tools.served, "mcp_servers")
	}
	if v := f.Raw("container"); v != nil {
		if v[0] != '"' {
			f.Object("container") // says what is wrong
		}
		c.tools.served = append(c.tools.served, "container")
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
	all, held := c.tools.offered(chosen.Name)
	slices.Sort(c.tools.served)
	b.LeftOut, b.Vendor = c.tools.served, "Anthropic"
	if held > 0 {
		c.LeftOut = append(c.LeftOut,
			fmt.Sprintf("deferred tools that no tool_reference names: %d", held))
	}
	return b.Choose(f, "tools", "tool_choice", all, chosen)
}

// offered returns the tools that the model gets, and how many are held back. A tool is held back if
// it is deferred and the client can find it, which it does by a tool of its own, whose results refer
// to others. Without such a tool, or if Anthropic's servers were to search, the model gets all.
func (l *toolList) offered(chosen string) (list []api.Offered, held int) {
	served := slices.ContainsFunc(l.served,
		func(kind string) bool { return strings.HasPrefix(kind, "tool_search_tool") })
	finds := !served && slices.ContainsFunc(l.all, func(t messageTool) bool { return !t.deferred })
	for _, t := range l.all {
		available, changed := l.changed[t.Tool.Name]
		switch {
		case changed && !available:
		case finds && t.deferred && !changed && t.Tool.Name != chosen:
			held++
		default:
			list = append(list, t.Offered)
		}
	}
	return list, held
}

// Blocks that make a tool available from there on, or withdraw one.
const (
	toolAddition = "tool_addition"
	toolRemoval  = "tool_removal"
)

func isChange(kind string) bool { return kind == toolAddition || kind == toolRemoval }

// change makes a tool available, or withdraws it.
func (l *toolList) change(name string, available bool) {
	if l.changed == nil {
		l.changed = map[string]bool{}
	}
	l.changed[name] = available
}

// readChange reads such a block.
func (l *toolList) readChange(b *wire.Fields, kind string) {
	o := wire.Needed(b.As(toolChangeShape), "tool")
	if o == nil {
		return
	}
	switch of := o.String("type"); of {
	case "tool_reference":
		l.change(wire.NeededName(o), kind == toolAddition)
	case "tool_definition":
		definition := wire.Needed(o, "definition")
		if definition == nil {
			return
		}
		if t := l.read(definition); t != nil {
			if i := slices.IndexFunc(l.all, t.isNamed); i < len(l.all)-1 {
				l.all = slices.Delete(l.all, i, i+1)
			}
			l.change(t.Tool.Name, true)
		}
		if len(l.all) > api.MaxTools {
			b.Fail("tool", "is one too many: a request may hold %d tools.", api.MaxTools)
		}
	case "mcp_tool_reference", "mcp_toolset_reference": // of a tool that is left out
	default:
		o.Fail("type", "is \"tool_reference\" or \"tool_definition\", not %q.", wire.Clip(of))
	}
}

// read reads a tool and returns it, or nil for one that the model does not get.
func (l *toolList) read(o *wire.Fields) *messageTool {
	kind := o.String("type")
	known, ok := clientTools[kind]
	var t dialect.Tool
	switch {
	case ok:
		t.Name, t.Parameters = cmp.Or(o.String("name"), known.name), known.parameters()
	case kind == "" || kind == "custom":
		t.Name = wire.NeededName(o)
		wire.Needed(o, "input_schema")
		t.Parameters = o.Raw("input_schema")
	case slices.Contains(servedTools, kindOf(kind)):
		l.served = append(l.served, kind)
		return nil
	case slices.Contains(screenTools, kindOf(kind)):
		o.Fail("type", "is %q, whose results are images: this endpoint takes text only; leave this tool out.",
			wire.Clip(kind))
		return nil
	default:
		api.RefuseTool(o, kind, "give the tool a name and an input_schema, and no type")
		return nil
	}
	t.Strict = o.Bool("strict")
	tool := messageTool{Offered: api.Offered{Tool: t}, deferred: o.Bool("defer_loading")}
	description := cmp.Or(o.String("description"), known.description) + examplesOf(o)
	tool.Entry = api.FunctionEntry(t.Name, strings.TrimSpace(description), t.Parameters)
	l.all = append(l.all, tool)
	return &tool
}

// examplesOf returns the examples of a tool's input, as a part of its description: templates have no
// other place for them.
func examplesOf(o *wire.Fields) string {
	list := o.List("input_examples", "must be a list of objects.")
	if len(list) == 0 {
		return ""
	}
	text := "\n\nExamples of the input:"
	for o := range o.Items("input_examples", list) {
		text += "\n" + string(o.Members().JSON())
	}
	return text
}
