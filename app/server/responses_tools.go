package server

import (
	"encoding/json"
	"strings"

	"tandem/app/dialect"
)

// responseTools are what a request for a response offers.
type responseTools struct {
	toolbox
	shown  json.RawMessage       // in the response: what the model is told of, as the client wrote it
	choice json.RawMessage       // and tool_choice
	spaces map[string]spacedName // of tools in namespaces, by the name that the model knows
}

// A spacedName is that of a tool in a namespace.
type spacedName struct{ space, name string }

// flatName is by what name the model knows a tool of a namespace.
func flatName(space, name string) string {
	if strings.HasSuffix(space, "_") {
		return space + name
	}
	return space + "__" + name
}

// readResponseTools reads tools and tool_choice. Functions are offered, those in
// namespaces too. What else there is, is left out: agents send tools of OpenAI's own
// servers whether these are there or not.
func readResponseTools(f *fields) (t responseTools) {
	const list, choice = "tools", "tool_choice"
	t.shown, t.choice = json.RawMessage("["), json.RawMessage(`"auto"`)
	var all []offered
	for _, entry := range readToolList(f, list) {
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
	if len(all) > maxTools { // with those in namespaces
		f.fail(list, "may hold %d tools, not %d.", maxTools, len(all))
	}
	if v := f.raw(choice); v != nil {
		t.choice = v
	}
	if parallel := optional(f, "parallel_tool_calls", f.bool); parallel != nil && !*parallel {
		t.single = true
	}
	chosen := readResponseChoice(f, choice)
	if f.err == nil {
		t.toolbox = t.choose(f, list, choice, all, chosen)
	}
	return t
}

// offer returns the functions of an entry of tools, if it is known.
func (t *responseTools) offer(f *fields, entry json.RawMessage) (list []offered, ok bool) {
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
			f.fail("tools", "holds a function that is not of the form {\"type\": \"function\", \"name\", \"description\", \"parameters\", \"strict\"}.")
			return nil, false
		}
		tool := dialect.Tool{Name: v.Name, Parameters: v.Parameters, Strict: v.Strict}
		return []offered{{appendFunction(nil, entry, v.Name), tool, true}}, true
	case "namespace":
		if err != nil || v.Name == "" {
			f.fail("tools", "holds a namespace that is not of the form {\"type\": \"namespace\", \"name\", \"tools\"}.")
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
			name := flatName(v.Name, fn.tool.Name)
			t.spaces[name] = spacedName{v.Name, fn.tool.Name}
			fn.tool.Name, fn.entry = name, appendFunction(nil, inner, name)
			list = append(list, fn)
		}
		return list, list != nil
	}
	return nil, false
}

// appendFunction writes a function in the form of chat completions, which templates
// know, in the client's order. How strictly it is followed is nothing that models
// were trained on.
func appendFunction(dst []byte, entry json.RawMessage, name string) []byte {
	dst = appendString(append(dst, `{"type":"function","function":{"name":`...), name)
	_ = eachMember(entry, func(key string, value json.RawMessage) error { // it was read before
		switch {
		case key == "type", key == "name", key == "strict", string(value) == "null":
			return nil
		}
		dst = append(appendString(append(dst, ','), key), ':')
		dst = append(dst, value...)
		return nil
	})
	return append(dst, "}}"...)
}

func readResponseChoice(f *fields, key string) toolChoice {
	c, o := readChoiceWord(f, key)
	if o == nil {
		return c
	}
	defer f.take(o)
	switch kind := o.string("type"); kind {
	case "function":
		c.mode, c.name = "required", readName(o)
	case "allowed_tools":
		if c.mode = o.oneOf("mode", []string{"auto", "required"}); c.mode == "" {
			c.mode = "auto"
		}
		c.allowed = []string{}
		for _, entry := range readToolList(o, "tools") {
			t, err := parseFields(entry, o.path+"tools.")
			if err != nil {
				o.take(&fields{err: err})
				break
			}
			if t.string("type") == "function" {
				c.allowed = append(c.allowed, readName(t))
			}
			o.take(t)
		}
	default:
		o.fail("type", "is \"function\" or \"allowed_tools\", not %q: other tools are not run here.", clip(kind))
	}
	return c
}

// readName reads what a function is called, in its namespace if it has one.
func readName(f *fields) string {
	name := neededName(f)
	if space := f.string("namespace"); space != "" {
		name = flatName(space, name)
	}
	return name
}
