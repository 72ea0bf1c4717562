package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/wire"
)

// responseTools are the tools of a request for a response: those of its field, and those that items of
// its input bring.
type responseTools struct {
	api.Toolbox
	offered []api.Offered
	known   map[string]knownTool // by the name that the model knows
	chosen  api.ToolChoice
	own     int      // how many of offered are of the field: items do not change them
	listed  []string // names of the list that is being read

	shown  []wire.RawObject // of the field, without those that are left out; for the answer
	choice json.RawMessage  // tool_choice, for the answer
}

// A knownTool is a tool as its client knows it.
type knownTool struct {
	kind *toolKind
	toolName
}

// flatName returns the name by which the model knows a tool of a namespace.
func flatName(space, name string) string {
	switch {
	case space == "":
		return name
	case strings.HasSuffix(space, "_"):
		return space + name
	}
	return space + "__" + name
}

// readResponseTools reads tools and tool_choice. The tools of items are added before choose is called.
func readResponseTools(f *wire.Fields) (t responseTools) {
	t.shown, t.choice = []wire.RawObject{}, json.RawMessage(`"auto"`)
	api.RefuseFunctions(f)
	shown, _ := t.add(f)
	t.own = len(t.offered)
	for _, o := range shown {
		t.shown = append(t.shown, shownTool(o))
	}
	if v := f.Raw("tool_choice"); v != nil {
		t.choice = v
	}
	if parallel := wire.ReadOptional(f, "parallel_tool_calls", f.Bool); parallel != nil && !*parallel {
		t.Single = true
	}
	t.chosen = readResponseChoice(f, "tool_choice")
	return t
}

// choose decides which tools the model may use, when all are known.
func (t *responseTools) choose(f *wire.Fields) {
	t.addShortNames()
	t.chosen.Name = t.nameOf(t.chosen.Name)
	if allowed := t.chosen.Allowed; allowed != nil {
		t.chosen.Allowed = []api.ChosenTool{}
		for _, tool := range allowed {
			before := len(t.chosen.Allowed)
			for _, o := range t.offered {
				space := t.known[o.Tool.Name].Namespace
				if space != "" && tool.Name == flatName(space, "") {
					t.chosen.Allowed = append(t.chosen.Allowed, api.ChosenTool{Name: o.Tool.Name})
				}
			}
			if len(t.chosen.Allowed) == before {
				tool.Name = t.nameOf(tool.Name)
				t.chosen.Allowed = append(t.chosen.Allowed, tool)
			}
		}
	}
	t.Toolbox = t.Choose(f, "tools", "tool_choice", t.offered, t.chosen)
}

// nameOf returns the name by which the model knows a tool that a choice names.
func (t *responseTools) nameOf(chosen string) string {
	for _, o := range t.offered {
		if slices.Contains(o.Tool.Also, chosen) {
			return o.Tool.Name
		}
	}
	return chosen
}

// defaultSpace is the namespace of tools that are in none, for OpenAI's models and for Codex.
const defaultSpace = "functions"

// addShortNames gives tools the names by which models call them too, and by which OpenAI's libraries choose
// them, if no other tool has that name: that after the namespace's and a dot or a slash, and in a namespace
// their own. Of tools with the same one the default namespace has it.
func (t *responseTools) addShortNames() {
	short := func(tool knownTool) []string {
		space := strings.TrimRight(cmp.Or(tool.Namespace, defaultSpace), "_")
		return []string{tool.Name, space + "." + tool.Name, space + "/" + tool.Name}
	}
	tools := map[string]int{} // by short name
	for _, tool := range t.known {
		for _, name := range short(tool) {
			tools[name]++
		}
	}
	for i := range t.offered {
		tool := &t.offered[i].Tool
		known := t.known[tool.Name]
		for _, name := range short(known) {
			_, taken := t.known[name]
			if !taken && (tools[name] == 1 || known.Namespace == defaultSpace) {
				tool.Also = append(tool.Also, name)
			}
		}
	}
}

// add adds the tools in a field of the body or of an item. It returns those that are not left out, and
// the names by which the model knows them.
func (t *responseTools) add(f *wire.Fields) (list []*wire.Fields, names []string) {
	t.listed = nil
	for o := range f.Items("tools", api.ReadToolList(f, "tools")) {
		if more := t.offer(o, "", ""); more != nil {
			list, names = append(list, o), append(names, more...)
		}
	}
	if len(t.offered) > api.MaxTools { // counts tools in namespaces too
		f.Fail("tools", "may hold %d tools, not %d.", api.MaxTools, len(t.offered))
	}
	return list, names
}

// offer adds a tool, or those of a namespace, under the names that it returns. about is the description of
// its namespace. It leaves out a tool that OpenAI's servers run.
func (t *responseTools) offer(o *wire.Fields, space, about string) (names []string) {
	kind := o.String("type")
	if kind == "namespace" && space == "" {
		space, about = wire.NeededName(o), o.String("description")
		for inner := range o.Items("tools", api.ReadToolList(o, "tools")) {
			names = append(names, t.offer(inner, space, about)...)
		}
		return names
	}
	k := offeredKind(kind)
	switch {
	case space != "" && slices.Contains(api.ResponseTools, kind):
		o.Fail("type", "%q cannot be in a namespace: offer it in tools itself.", control.Word(kind))
		return nil
	case k == nil:
		t.LeaveOut(o, kind)
		return nil
	}
	if runsElsewhere(o, kind) {
		t.LeftOut = append(t.LeftOut, kind)
		return nil
	}
	tool := k.function(o)
	known := knownTool{k, toolName{space, tool.Tool.Name}}
	name := flatName(space, tool.Tool.Name)
	if name != tool.Tool.Name {
		tool.Tool.Name, tool.Entry = name, api.RenameFunction(tool.Entry, name, about)
	}
	if slices.Contains(t.listed, name) {
		api.FailTwin(o, name)
		return nil
	}
	if t.known == nil {
		t.known = map[string]knownTool{}
	}
	t.listed = append(t.listed, name)
	same := func(had api.Offered) bool { return had.Tool.Name == name }
	switch i := slices.IndexFunc(t.offered, same); {
	case i < 0:
		t.offered, t.known[name] = append(t.offered, tool), known
	case i >= t.own: // an item offers it again
		t.offered[i], t.known[name] = tool, known
	}
	return []string{name}
}

// runsElsewhere reports whether OpenAI's servers run a tool of a kind that clients may run too.
func runsElsewhere(o *wire.Fields, kind string) bool {
	switch kind {
	case "shell":
		in := o.Object("environment")
		return in != nil && in.String("type") != "local"
	case "tool_search":
		return o.Word("execution") != "client"
	}
	return false
}

// function returns a tool as the function that the model gets. Some clients write a tool as chats have it.
func (k *toolKind) function(o *wire.Fields) api.Offered {
	if k.name == "" && o.Raw("name") == nil && o.Raw(k.tool) != nil {
		if o = o.Object(k.tool); o == nil {
			return api.Offered{}
		}
	}
	switch {
	case k.tool == api.CustomTool:
		return api.ReadCustomTool(o)
	case k.name == "":
		return api.OfferFunction(o, api.FunctionTool(o.Members().JSON(), o.String("name")))
	}
	about, parameters := k.about, json.RawMessage(k.parameters)
	if k.tool == "tool_search" {
		if text := o.String("description"); text != "" {
			about = text
		}
		if v := o.Object("parameters"); v != nil {
			parameters = o.Raw("parameters")
		}
	}
	return api.Offered{Kind: k.tool, Entry: api.FunctionEntry(k.name, about, parameters),
		Tool: dialect.Tool{Name: k.name, Parameters: parameters, Strict: k.tool != "tool_search", Accepts: k.accepts}}
}

// shownTool returns a tool for the answer, with all members that typed clients need.
func shownTool(o *wire.Fields) wire.RawObject {
	kind, list := o.String("type"), o.Members()
	need := func(value string, keys ...string) {
		for _, key := range keys {
			if list.Get(key) == nil {
				list = append(list, wire.Member{Key: key, Value: json.RawMessage(value)})
			}
		}
	}
	switch kind {
	case "function", api.CustomTool:
		if inside := o.Object(kind); inside != nil { // as chats have it
			list = append(list.Without(kind), inside.Members()...)
		}
		if kind == "function" {
			need("null", "description", "parameters", "strict")
		}
	case "namespace":
		var inner []json.RawMessage
		for tool := range o.Items("tools", api.ReadToolList(o, "tools")) {
			inner = append(inner, json.RawMessage(shownTool(tool)))
		}
		list = list.With("tools", wire.JoinValues(inner))
		need(`""`, "description")
	}
	return wire.RawObject(list.JSON())
}

func readResponseChoice(f *wire.Fields, key string) api.ToolChoice {
	c, o, kind := api.ReadChoice(f, key, readName)
	if o == nil {
		return c
	}
	if k := offeredKind(kind); k != nil {
		c.Mode, c.ChosenTool = "required", api.ChosenTool{Name: k.name, Kind: k.tool}
		return c
	}
	if kind != "allowed_tools" {
		api.RefuseChoice(o, kind,
			`"function", "custom", the type of another tool that your program runs, or "allowed_tools"`)
		return c
	}
	a := o
	if o.Raw("tools") == nil && o.Raw("allowed_tools") != nil { // as chats have it
		a = o.Object("allowed_tools")
	}
	if a != nil {
		c.ReadAllowed(a, readAllowed)
	}
	return c
}

// readAllowed reads a tool in allowed_tools. One that OpenAI's servers run has no name. A namespace, which
// allows all its tools, has the name that a tool without one would have in it.
func readAllowed(t *wire.Fields) api.ChosenTool {
	kind := t.As(responseToolShape).String("type")
	switch k := offeredKind(kind); {
	case kind == "namespace":
		return api.ChosenTool{Name: flatName(wire.NeededName(t), "")}
	case k == nil:
		new(api.Toolbox).LeaveOut(t, kind)
		return api.ChosenTool{}
	case k.name != "":
		return api.ChosenTool{Name: k.name, Kind: k.tool}
	}
	return api.ReadChosen(t, readName)
}

// readName reads the name of a tool, with its namespace if it has one.
func readName(f *wire.Fields) string {
	name := wire.NeededName(f)
	return flatName(f.String("namespace"), name)
}
