package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"tandem/app/dialect"
	"tandem/app/jsonschema"
	"tandem/app/wire"
)

// CustomTool is the type of OpenAI's tools that take a text. The model gets one as a function whose only
// parameter is the text.
const CustomTool = "custom"

// ReadCustomTool reads a custom tool from its name, its description and its format. The format is the
// one of responses, or the one of chats, which has an object around a grammar.
func ReadCustomTool(o *wire.Fields) Offered {
	t := dialect.Tool{Name: wire.NeededName(o)}
	about := "The input, a text."
	if format := o.Object("format"); format != nil && format.NeededWord("type") == "grammar" {
		rules := format.Object("grammar")
		if rules == nil {
			rules = format
		}
		about = readTextRules(rules, &t)
	}
	t.Parameters = dialect.TextParameters(about)
	return Offered{Entry: FunctionEntry(t.Name, o.String("description"), t.Parameters), Tool: t, Kind: CustomTool}
}

// readTextRules reads the rules of a tool's text into it, and returns what the model is told about them.
func readTextRules(o *wire.Fields, t *dialect.Tool) (about string) {
	text := wire.NeededString(o, "definition")
	t.TextParam = o.Path + "definition"
	switch o.NeededWord("syntax") {
	case "lark":
		t.Text = text
		return "The input, a text by this Lark grammar:\n" + text
	case "regex":
		t.Text = jsonschema.LarkRegex(text)
		return "The input, a text that this regular expression matches:\n" + text
	}
	return ""
}

// FunctionEntry returns a function in the form of chats.
func FunctionEntry(name, description string, parameters json.RawMessage) json.RawMessage {
	function := wire.Members{{Key: "name", Value: wire.Quote(name)}}
	if description != "" {
		function = append(function, wire.Member{Key: "description", Value: wire.Quote(description)})
	}
	return wrapFunction(append(function, wire.Member{Key: "parameters", Value: parameters}).JSON())
}

// TextArguments returns the arguments of the call of a custom tool.
func TextArguments(input string) json.RawMessage {
	return wire.Members{{Key: dialect.TextParameter, Value: wire.Quote(input)}}.JSON()
}

// CallInput returns the text with which a custom tool is called, of a call that was cut as much as there
// is. If a model wrote other arguments, it is their JSON.
func CallInput(arguments []byte) string {
	var v struct{ Input *string }
	if json.Unmarshal(arguments, &v) == nil && v.Input != nil {
		return *v.Input
	}
	if text, ok := begunInput(arguments); ok {
		return text
	}
	return string(arguments)
}

// begunInput returns the text of arguments that were cut. It reports false if they have another beginning.
func begunInput(arguments []byte) (text string, ok bool) {
	rest := arguments
	for _, c := range []byte(`{"` + dialect.TextParameter + `":"`) {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) == 0 {
			return "", true
		}
		if rest[0] != c {
			return "", false
		}
		rest = rest[1:]
	}
	const escape = `\ud83d\ude0` // the longest that may be cut
	for end := len(rest); end >= max(0, len(rest)-len(escape)); end-- {
		whole := slices.Concat([]byte{'"'}, rest[:end], []byte{'"'})
		if json.Unmarshal(whole, &text) == nil {
			return strings.TrimRight(text, "\uFFFD"), true // half a character
		}
	}
	return "", false
}
