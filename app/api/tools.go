package api

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/wire"
)

// MaxTools limits the tools of a request. Agents send some hundreds.
const MaxTools = 2000

// A Toolbox has the tools of a request and how the model may use them. The zero value has no tools.
type Toolbox struct {
	List      json.RawMessage // for the template, as the client wrote it; nil for none
	Tools     []dialect.Tool  // the tools that have a name
	Forced    bool            // the answer must be a call
	Name      string          // of the only tool that may be called; empty for any
	Single    bool            // at most one call
	Custom    map[string]bool // the names of the tools that are called with a text; nil for none
	LeftOut   []string        // types of tools that the vendor's servers would run; see LeaveOut
	Vendor    control.Word    // of LeftOut; empty for OpenAI
	Functions bool            // the client used the older form, and gets its answer in that form
}

// ReadTools reads the tools and tool_choice of chats. It also reads their older form, functions and
// function_call. Other protocols read their own fields and call Choose.
func ReadTools(f *wire.Fields) (b Toolbox) {
	if wire.SaysNothing(f.Values["tools"]) && f.Raw("functions") != nil {
		b.Functions, b.Single = true, true
	}
	list, choice := b.fields()
	if !b.Functions {
		RefuseFunctions(f)
	}
	if parallel := wire.ReadOptional(f, "parallel_tool_calls", f.Bool); parallel != nil && !*parallel {
		b.Single = true
	}
	var all []Offered
	for o := range f.Items(list, ReadToolList(f, list)) {
		if b.Functions {
			all = append(all, OfferFunction(o, wrapFunction(o.Members().JSON())))
		} else {
			all = b.offer(all, o)
		}
	}
	chosen := readToolChoice(f, choice)
	if f.Err() != nil {
		return Toolbox{}
	}
	return b.Choose(f, list, choice, all, chosen)
}

// RefuseFunctions refuses tools in their older form where that is not read, instead of ignoring them.
func RefuseFunctions(f *wire.Fields) {
	if !wire.SaysNothing(f.Values["functions"]) {
		f.Fail("functions", "is not read here; send it as tools.")
	}
}

// fields returns the names of the fields with the tools and with the choice.
func (b *Toolbox) fields() (list, choice string) {
	if b.Functions {
		return "functions", "function_call"
	}
	return "tools", "tool_choice"
}

// offer adds a tool of a chat to the list, unless it is left out.
func (b *Toolbox) offer(list []Offered, o *wire.Fields) []Offered {
	kind := o.String("type")
	if kind == CustomTool {
		custom := o.Object("custom")
		if custom == nil {
			custom = o
		}
		return addUnlike(list, ReadCustomTool(custom), custom)
	}
	// Some clients write the function's members beside its type, as responses have it. The template gets
	// it in the form of chats.
	function, entry := o.Object("function"), o.Members().JSON()
	if function == nil {
		if kind != "" && kind != "function" {
			b.LeaveOut(o, kind)
			return list
		}
		function, entry = o, FunctionTool(entry, o.String("name"))
	}
	return addUnlike(list, OfferFunction(function, entry), function)
}

// addUnlike adds a tool, unless the list has one of another kind by its name: no call would tell which of
// the two it means, a function or a custom tool. Two functions of one name are called alike, and OpenAI
// takes them.
func addUnlike(list []Offered, tool Offered, o *wire.Fields) []Offered {
	if slices.ContainsFunc(list, func(had Offered) bool {
		return had.Tool.Name == tool.Tool.Name && had.Kind != tool.Kind
	}) {
		FailTwin(o, tool.Tool.Name)
	}
	return append(list, tool)
}

// FailTwin refuses a tool that the model cannot tell from another one of the same name.
func FailTwin(o *wire.Fields, name string) {
	o.Fail("name", "and another tool are both %q for the model; rename one of them.", wire.Clip(name))
}

// OfferFunction offers a function, which the template gets as entry.
func OfferFunction(function *wire.Fields, entry json.RawMessage) Offered {
	const other = "input_schema" // Anthropic's name
	if function.Raw(other) != nil {
		function.Fail(other, "is not read here; send it as parameters.")
	}
	return Offered{Kind: "function", Entry: entry, Tool: dialect.Tool{Name: wire.NeededName(function),
		Parameters: function.Raw("parameters"), Strict: function.Bool("strict")}}
}

// LeaveOut leaves out a tool that OpenAI's servers would run. Agents send such tools whether or not a
// server has them. It refuses any other tool: a client that runs it waits for its calls.
func (b *Toolbox) LeaveOut(o *wire.Fields, kind string) {
	if hosted.MatchString(kind) {
		b.LeftOut = append(b.LeftOut, kind)
		return
	}
	RefuseTool(o, kind, "offer it as a function")
}

// hosted matches the types of the tools that OpenAI's servers run.
var hosted = regexp.MustCompile(
	"^(web_search(_[a-z0-9_]{1,40})?|file_search|code_interpreter|image_generation|mcp|programmatic_tool_calling)$")

// RefuseTool refuses a tool of a type that the route does not have. instead says how to offer it here.
func RefuseTool(o *wire.Fields, kind string, instead control.Word) {
	other := apiOf(kind)
	switch {
	case other != "":
		o.Fail("type", "%q is for %s: send the request there, or %s.", control.Word(kind), other, instead)
	case strings.HasPrefix(kind, "computer"):
		o.Fail("type", "%q needs a model that sees the screen, and the models here read text; leave "+
			"this tool out.", wire.Clip(kind))
	default:
		o.Fail("type", "%q is not known here; leave this tool out, or %s.", wire.Clip(kind), instead)
	}
}

// ResponseTools are the types of the tools that only the Responses API has.
var ResponseTools = []string{"shell", "local_shell", "apply_patch", "tool_search", "namespace"}

// MessageTools are the types of the tools that only the Messages API has.
var MessageTools = []string{"bash_20241022", "bash_20250124", "text_editor_20241022", "text_editor_20250124",
	"text_editor_20250429", "text_editor_20250728", "memory_20250818"}

// apiOf returns the API that has tools of a type and offers them to models here, "" if none does.
func apiOf(kind string) control.Word {
	switch {
	case slices.Contains(ResponseTools, kind):
		return "the Responses API (POST /v1/responses)"
	case slices.Contains(MessageTools, kind):
		return "the Messages API (POST /v1/messages)"
	case kind == "function":
		return "OpenAI's APIs (POST /v1/chat/completions)"
	}
	return ""
}

// An Offered is a tool that a request offers.
type Offered struct {
	Entry json.RawMessage // for the template
	Tool  dialect.Tool
	Kind  string // its type, such as CustomTool; empty on a route where a choice has no type
}

// Choose adds the tools that the model may use by chosen, a tool_choice that was read. list and
// choice are the names of the fields of all and of chosen, for errors.
func (b Toolbox) Choose(f *wire.Fields, list, choice string, all []Offered,
	chosen ToolChoice) Toolbox {
	if chosen.Mode == "none" {
		return Toolbox{LeftOut: b.LeftOut, Vendor: b.Vendor}
	}
	var entries []json.RawMessage
	for _, o := range all {
		isNamed := func(t ChosenTool) bool { return t.Name == o.Tool.Name }
		if chosen.Allowed != nil && !slices.ContainsFunc(chosen.Allowed, isNamed) {
			continue
		}
		entries = append(entries, o.Entry)
		b.Tools = append(b.Tools, o.Tool)
		if o.Kind == CustomTool {
			if b.Custom == nil {
				b.Custom = map[string]bool{}
			}
			b.Custom[o.Tool.Name] = true
		}
	}
	named := chosen.Allowed
	if chosen.Name != "" {
		named = []ChosenTool{chosen.ChosenTool}
	}
	for _, t := range named {
		i := slices.IndexFunc(all, func(o Offered) bool { return o.Tool.Name == t.Name })
		switch {
		case i >= 0 && t.Kind != "" && t.Kind != all[i].Kind:
			f.Fail(choice, "names %q with the type %q, but its type is %q.", wire.Clip(t.Name), wire.Clip(t.Kind),
				control.Word(all[i].Kind))
		case i < 0 && chosen.Allowed != nil && !slices.Contains(b.LeftOut, t.Name):
			f.Fail(choice, "names %q, which is not in %s.", wire.Clip(t.Name), control.Word(list))
		}
	}
	if entries != nil {
		b.List = wire.JoinValues(entries)
	}
	b.Forced, b.Name = chosen.Mode == "required", chosen.Name
	b.Check(f, list, choice)
	return b
}

// Check fails f if the answer must be a call and there is no such tool. list and choice are the
// fields' names.
func (b *Toolbox) Check(f *wire.Fields, list, choice string) {
	known := func(name string) bool {
		return slices.ContainsFunc(b.Tools, func(t dialect.Tool) bool { return t.Name == name })
	}
	// left reports whether a tool is left out. Its name is the type, in Anthropic's API without the version.
	left := func(kind string) bool { return kind == b.Name || strings.HasPrefix(kind, b.Name+"_") }
	vendor, field := cmp.Or(b.Vendor, "OpenAI"), control.Word(choice)
	kinds := strings.Join(slices.Compact(slices.Sorted(slices.Values(b.LeftOut))), ", ")
	switch {
	case b.Name != "" && !known(b.Name) && slices.ContainsFunc(b.LeftOut, left):
		f.Fail(choice, "names %q, which runs on %s's servers, not here: name a tool that your program runs, "+
			"or leave out %s.", control.Word(b.Name), vendor, field)
	case b.Forced && len(b.Tools) == 0 && b.LeftOut != nil:
		f.Fail(choice, "asks for a call, but what is offered (%s) runs on %s's servers, not here: offer a tool "+
			"that your program runs, or leave out %s.", control.Word(kinds), vendor, field)
	case b.Forced && len(b.Tools) == 0:
		f.Fail(choice, "asks for a call, and %s offers nothing to call: offer a tool, or leave out %s.",
			control.Word(list), field)
	case b.Name != "" && !known(b.Name):
		f.Fail(choice, "names %q, which is not in %s.", wire.Clip(b.Name), control.Word(list))
	}
}

// ReadToolList returns the tools of a list as the client wrote them.
func ReadToolList(f *wire.Fields, key string) []json.RawMessage {
	v := f.Raw(key)
	if v == nil {
		return nil
	}
	list, n := wire.FirstValues(v, MaxTools)
	if n < 0 {
		f.Fail(key, "must be a list of objects.")
		return nil
	}
	if n > MaxTools {
		f.Fail(key, "may hold %d tools, not %d.", MaxTools, n)
		return nil
	}
	for _, entry := range list {
		if len(entry) == 0 || entry[0] != '{' {
			f.Fail(key, "must be a list of objects.")
			return nil
		}
	}
	return list
}

// FunctionTool returns a function in the form of chats, which templates know. Its description and its
// parameters are in the client's order. It leaves out other members, because models are not trained on them.
func FunctionTool(entry json.RawMessage, name string) json.RawMessage {
	list, _ := wire.ReadMembers(entry) // it parsed before
	function := wire.Members{{Key: "name", Value: wire.Quote(name)}}
	for _, m := range list {
		if (m.Key == "description" || m.Key == "parameters") && string(m.Value) != "null" {
			function = append(function, m)
		}
	}
	return wrapFunction(function.JSON())
}

// RenameFunction returns a function in the form of chats, with another name, and with about before its
// description.
func RenameFunction(entry json.RawMessage, name, about string) json.RawMessage {
	tool, function := readCall(entry)
	function = function.With("name", wire.Quote(name))
	if own := unquote(function.Get("description")); about != "" {
		function = function.With("description", wire.Quote(strings.TrimSpace(about+"\n\n"+own)))
	}
	return tool.With("function", function.JSON()).JSON()
}

// wrapFunction returns a tool, or a call without an id, with that function.
func wrapFunction(function json.RawMessage) json.RawMessage {
	return slices.Concat([]byte(`{"type":"function","function":`), function, []byte{'}'})
}

// A ToolChoice says which calls an answer may make.
type ToolChoice struct {
	Mode       string       // "auto", "none" or "required"
	ChosenTool              // the only tool, if Mode is required
	Allowed    []ChosenTool // nil for all
}

// A ChosenTool is a tool that a choice names.
type ChosenTool struct {
	Name string // empty for none
	Kind string // its type; empty for any
}

// ReadChoice reads a tool_choice: a word such as "any", an object with it such as {"type": "any"}, or
// an object that names a function, whose name it reads by calling name. Some clients leave out the
// type beside a name, or send Anthropic's. An object of another type is returned as o, with its
// type as kind, for the caller to read; otherwise o is nil.
func ReadChoice(f *wire.Fields, key string,
	name func(*wire.Fields) string) (c ToolChoice, o *wire.Fields, kind string) {
	c.Mode = "auto"
	v := f.Raw(key)
	if v == nil {
		return c, nil, ""
	}
	if v[0] == '"' {
		c.Mode = modeOf(f.Word(key))
		return c, nil, ""
	}
	if o = f.Object(key); o == nil {
		return c, nil, ""
	}
	switch kind = o.String("type"); {
	case slices.Contains(ToolChoices, kind):
		c.Mode = modeOf(kind)
	case kind == "function", kind == "tool", kind == CustomTool,
		kind == "" && (o.Raw("function") != nil || o.Raw("name") != nil):
		c.Mode, c.ChosenTool = "required", ReadChosen(o, name)
	default:
		return c, o, kind
	}
	return c, nil, ""
}

// modeOf returns the mode that a word of ToolChoices asks for.
func modeOf(word string) string {
	if word == "any" {
		return "required"
	}
	return word
}

// readToolChoice reads the tool_choice or function_call of chats.
func readToolChoice(f *wire.Fields, key string) ToolChoice {
	if v := f.Raw(key); key == "function_call" && v != nil && v[0] != '"' { // {"name"}
		o := f.Object(key)
		if o == nil {
			return ToolChoice{}
		}
		return ToolChoice{Mode: "required", ChosenTool: ChosenTool{Name: wire.NeededName(o)}}
	}
	c, o, kind := ReadChoice(f, key, wire.NeededName)
	switch {
	case o == nil:
	case kind == "allowed_tools":
		a := o
		if o.Raw("tools") == nil {
			a = wire.Needed(o, "allowed_tools")
		}
		if a != nil {
			c.ReadAllowed(a, func(t *wire.Fields) ChosenTool {
				if hosted.MatchString(t.String("type")) {
					return ChosenTool{}
				}
				return ReadChosen(t, wire.NeededName)
			})
		}
	default:
		RefuseChoice(o, kind, `"function", "custom" or "allowed_tools"`)
	}
	return c
}

// RefuseChoice refuses a tool_choice of a type that the route does not have. types are those it has.
func RefuseChoice(o *wire.Fields, kind string, types control.Word) {
	switch other := apiOf(kind); {
	case hosted.MatchString(kind):
		o.Fail("type", "%q runs on OpenAI's servers, not here: name a tool that your program runs, or leave out "+
			"tool_choice.", control.Word(kind))
	case other != "":
		o.Fail("type", "%q is for %s: send the request there, or name a function.", control.Word(kind), other)
	default:
		o.Fail("type", "must be %s, not %q.", types, wire.Clip(kind))
	}
}

// ReadChosen reads the tool of a choice, or of an entry of allowed_tools. Chats name it in function or custom; else
// read returns its name, as Responses have it.
func ReadChosen(o *wire.Fields, read func(*wire.Fields) string) ChosenTool {
	t, key := ChosenTool{Kind: o.String("type")}, "function"
	switch {
	case t.Kind == "tool": // Anthropic's, of any kind
		t.Kind = ""
	case t.Kind == CustomTool, t.Kind == "" && o.Raw(CustomTool) != nil:
		t.Kind, key = CustomTool, CustomTool
	case t.Kind == "" && o.Raw(key) != nil:
		t.Kind = key
	}
	if o.Raw(key) == nil && o.Raw("name") == nil {
		o.FailMissing(key)
		return t
	}
	if inside := o.Object(key); inside != nil {
		t.Name = wire.NeededName(inside)
	} else {
		t.Name = read(o)
	}
	return t
}

// ReadAllowed reads a choice of some tools. read returns one, without a name if it is left out.
func (c *ToolChoice) ReadAllowed(f *wire.Fields, read func(tool *wire.Fields) ChosenTool) {
	c.Mode, c.Allowed = cmp.Or(f.Word("mode"), "auto"), []ChosenTool{}
	for o := range f.Items("tools", ReadToolList(f, "tools")) {
		if t := read(o); t.Name != "" {
			c.Allowed = append(c.Allowed, t)
		}
	}
}

// withTools returns the messages with a text about the tools, as the dialect tool_call has it, at the
// end of the first message if that is the system's, or in a new system message.
func withTools(messages []Message, tools json.RawMessage) []Message {
	told := dialect.ToolInstructions(listFunctions(tools))
	if len(messages) > 0 && messages[0].Role == "system" {
		first := messages[0]
		first.Texts = append(slices.Clone(first.Texts), told)
		return append([]Message{first}, messages[1:]...)
	}
	return append([]Message{NewMessage("system", told)}, messages...)
}

// listFunctions returns the functions of tools, without what wraps them. Other entries stay.
func listFunctions(tools json.RawMessage) []json.RawMessage {
	var entries []json.RawMessage
	_ = json.Unmarshal(tools, &entries) // it was read before
	for i, entry := range entries {
		var tool struct {
			Function json.RawMessage `json:"function"`
		}
		if json.Unmarshal(entry, &tool) == nil && tool.Function != nil {
			entries[i] = tool.Function
		}
	}
	return entries
}
