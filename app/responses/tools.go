package responses

import (
	"encoding/json"
	"strings"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
)

// responseTools are the tools of a request for a response.
type responseTools struct {
	api.Toolbox
	shown  []wire.RawObject      // tools that the model gets, for the answer
	choice json.RawMessage       // tool_choice, for the answer
	spaces map[string]spacedName // tools in namespaces, by the name that the model knows
}

// A spacedName is the name of a tool in a namespace.
type spacedName struct{ space, name string }

// flatName returns the name by which the model knows a tool of a namespace.
func flatName(space, name string) string {
	if strings.HasSuffix(space, "_") {
		return space + name
	}
	return space + "__" + name
}

// readResponseTools reads tools and tool_choice. It takes functions, also those in namespaces, and
// leaves out all others. Agents send tools of OpenAI's own servers whether or not a server has
// them.
func readResponseTools(f *wire.Fields) (t responseTools) {
	const list, choice = "tools", "tool_choice"
	t.shown, t.choice = []wire.RawObject{}, json.RawMessage(`"auto"`)
	var all []api.Offered
	for _, entry := range api.ReadToolList(f, list) {
		more, ok := t.offer(f, entry)
		if !ok {
			continue
		}
		all = append(all, more...)
		t.shown = append(t.shown, wire.RawObject(entry))
	}
	if len(all) > api.MaxTools { // counts tools in namespaces too
		f.Fail(list, "may hold %d tools, not %d.", api.MaxTools, len(all))
	}
	if v := f.Raw(choice); v != nil {
		t.choice = v
	}
	if parallel := wire.ReadOptional(f, "parallel_tool_calls", f.Bool); parallel != nil && !*parallel {
		t.Single = true
	}
	chosen := readResponseChoice(f, choice)
	if f.Err() == nil {
		t.Toolbox = t.Choose(f, list, choice, all, chosen)
	}
	return t
}

// offer returns the functions of an entry of tools. ok is false for an unknown type.
func (t *responseTools) offer(f *wire.Fields, entry json.RawMessage) (list []api.Offered, ok bool) {
	var v struct {
		Type        string            `json:"type"`
		Name        string            `json:"name"`
		Parameters  json.RawMessage   `json:"parameters"`
		Strict      bool              `json:"strict"`
		Tools       []json.RawMessage `json:"tools"`
		Description string            `json:"description"`
		Function    json.RawMessage   `json:"function"`
	}
	err := json.Unmarshal(entry, &v)
	if v.Type == "function" && v.Name == "" && len(v.Function) > 0 { // as chats have it
		entry = v.Function
		err = json.Unmarshal(entry, &v)
	}
	switch v.Type {
	case "function":
		if err != nil || v.Name == "" {
			f.Fail("tools",
				"holds a function that is not of the form {\"type\": \"function\", \"name\", "+
					"\"description\", \"parameters\", \"strict\"}.")
			return nil, false
		}
		tool := dialect.Tool{Name: v.Name, Parameters: v.Parameters, Strict: v.Strict}
		return []api.Offered{{Entry: api.FunctionTool(entry, v.Name), Tool: tool, Named: true}},
			true
	case "namespace":
		if err != nil || v.Name == "" {
			f.Fail("tools",
				"holds a namespace that is not of the form {\"type\": \"namespace\", \"name\", "+
					"\"tools\"}.")
			return nil, false
		}
		if t.spaces == nil {
			t.spaces = map[string]spacedName{}
		}
		for _, inner := range v.Tools {
			functions, ok := t.offer(f, inner)
			if !ok || len(functions) != 1 {
				continue
			}
			fn := functions[0]
			name := flatName(v.Name, fn.Tool.Name)
			t.spaces[name] = spacedName{v.Name, fn.Tool.Name}
			fn.Tool.Name, fn.Entry = name, api.FunctionTool(inner, name)
			list = append(list, fn)
		}
		return list, list != nil
	}
	return nil, false
}

func readResponseChoice(f *wire.Fields, key string) api.ToolChoice {
	c, o, kind := api.ReadChoice(f, key, readName)
	switch {
	case o == nil:
	case kind == "allowed_tools":
		a := o
		if o.Raw("tools") == nil && o.Raw("allowed_tools") != nil { // as chats have it
			a = o.Object("allowed_tools")
		}
		if a != nil {
			readAllowed(a, &c)
		}
	default:
		o.Fail("type",
			"is \"function\" or \"allowed_tools\", not %q: other tools are not run here.",
			wire.Clip(kind))
	}
	return c
}

// readAllowed reads a choice that names some of the tools.
func readAllowed(o *wire.Fields, c *api.ToolChoice) {
	if c.Mode = o.Word("mode"); c.Mode == "" {
		c.Mode = "auto"
	}
	c.Allowed = []string{}
	for t := range o.Items("tools", api.ReadToolList(o, "tools")) {
		if t.As(responseToolShape).String("type") == "function" {
			c.Allowed = append(c.Allowed, api.ChosenName(t, readName))
		}
	}
}

// readName reads the name of a function, with its namespace if it has one.
func readName(f *wire.Fields) string {
	name := wire.NeededName(f)
	if space := f.String("namespace"); space != "" {
		name = flatName(space, name)
	}
	return name
}
