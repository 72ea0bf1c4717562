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
	shown  json.RawMessage       // tools that the model gets, in the client's spelling; for the answer
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
	t.shown, t.choice = json.RawMessage("["), json.RawMessage(`"auto"`)
	var all []api.Offered
	for _, entry := range api.ReadToolList(f, list) {
		more, ok := t.offer(f, entry)
		if !ok {
			continue
		}
		all = append(all, more...)
		if len(t.shown) > 1 {
			t.shown = append(t.shown, ',')
		}
		t.shown = append(t.shown, entry...)
	}
	t.shown = append(t.shown, ']')
	if len(all) > api.MaxTools { // counts tools in namespaces too
		f.Fail(list, "may hold %d tools, not %d.", api.MaxTools, len(all))
	}
	if v := f.Raw(choice); v != nil {
		t.choice = v
	}
	if parallel := wire.Optional(f, "parallel_tool_calls", f.Bool); parallel != nil && !*parallel {
		t.Single = true
	}
	chosen := readResponseChoice(f, choice)
	if f.Err == nil {
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
	}
	err := json.Unmarshal(entry, &v)
	switch v.Type {
	case "function":
		if err != nil || v.Name == "" {
			f.Fail("tools",
				"holds a function that is not of the form {\"type\": \"function\", \"name\", "+
					"\"description\", \"parameters\", \"strict\"}.")
			return nil, false
		}
		tool := dialect.Tool{Name: v.Name, Parameters: v.Parameters, Strict: v.Strict}
		return []api.Offered{{Entry: appendFunction(nil, entry, v.Name), Tool: tool, Named: true}},
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
			fn.Tool.Name, fn.Entry = name, appendFunction(nil, inner, name)
			list = append(list, fn)
		}
		return list, list != nil
	}
	return nil, false
}

// appendFunction appends a function in the form of chat completions, which templates know. The
// members keep the client's order. It leaves out strict, because models are not trained on it.
func appendFunction(dst []byte, entry json.RawMessage, name string) []byte {
	dst = wire.AppendString(append(dst, `{"type":"function","function":{"name":`...), name)
	_ = wire.EachMember(entry, func(key string, value json.RawMessage) error { // it parsed before
		switch {
		case key == "type", key == "name", key == "strict", string(value) == "null":
			return nil
		}
		dst = append(wire.AppendString(append(dst, ','), key), ':')
		dst = append(dst, value...)
		return nil
	})
	return append(dst, "}}"...)
}

func readResponseChoice(f *wire.Fields, key string) api.ToolChoice {
	c, o := api.ReadChoiceWord(f, key)
	if o == nil {
		return c
	}
	defer f.Take(o)
	switch kind := o.String("type"); kind {
	case "function":
		c.Mode, c.Name = "required", readName(o)
	case "allowed_tools":
		if c.Mode = o.Word("mode"); c.Mode == "" {
			c.Mode = "auto"
		}
		c.Allowed = []string{}
		for _, entry := range api.ReadToolList(o, "tools") {
			t, err := wire.ParseFields(entry, o.Path+"tools.")
			if err != nil {
				o.Take(&wire.Fields{Err: err})
				break
			}
			if t.As(responseToolShape).String("type") == "function" {
				c.Allowed = append(c.Allowed, readName(t))
			}
			o.Take(t)
		}
	default:
		o.Fail("type",
			"is \"function\" or \"allowed_tools\", not %q: other tools are not run here.",
			wire.Clip(kind))
	}
	return c
}

// readName reads the name of a function, with its namespace if it has one.
func readName(f *wire.Fields) string {
	name := wire.NeededName(f)
	if space := f.String("namespace"); space != "" {
		name = flatName(space, name)
	}
	return name
}
