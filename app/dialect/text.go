package dialect

import (
	"encoding/json"
	"fmt"

	"tandem/app/jsonschema"
)

// TextParameter is the only parameter of a tool that takes a text.
const TextParameter = "input"

// TextParameters is the schema of such a tool. description is that of the text.
func TextParameters(description string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"` + TextParameter +
		`":{"type":"string","description":` + quote(description) + `}},"required":["` + TextParameter +
		`"],"additionalProperties":false}`)
}

// TextRules returns the rules of the text, with forms in place of their schemas.
func (t Tool) TextRules() (string, error) { return jsonschema.Lark(t.Text) }

// takesText reports whether the tool has [TextParameters].
func (t Tool) takesText() bool {
	s := readParameters(t.Parameters)
	return len(s.Properties) == 1 && s.kindOf(TextParameter) == kindText &&
		string(s.raw["additionalProperties"]) == "false"
}

// textArguments returns the arguments of a call of such a tool.
func textArguments(text string) []byte {
	return append(appendString([]byte(`{"`+TextParameter+`":`), text), '}')
}

// textObject returns the rule of the arguments of a tool that takes a text by rules, as JSON.
func (g *grammar) textObject(t Tool) string {
	return fmt.Sprintf("%s %s %s", quote(`{"`+TextParameter+`": `), g.quotedText(t), quote("}"))
}

// quotedText returns the rule of such a text as a JSON string, which is a Python literal too.
func (g *grammar) quotedText(t Tool) string {
	rules, err := jsonschema.LarkString(t.Text)
	if err != nil {
		return g.refuseText(t, err)
	}
	return fmt.Sprintf(`"\"" %s "\""`, nested(rules))
}

// plainText returns the rule of such a text without quotes, and of the tag after it. The rules may
// match a part of a tag that is no token. So one regular expression is matched as far as the first
// tag after it; of other rules a terminal must not go on into the tag.
func (g *grammar) plainText(t Tool, end string) string {
	tag := g.token(end)
	if regex, ok := jsonschema.Regex(t.Text); ok && tag == quote(end) {
		g.texts++
		name := fmt.Sprintf("text_%d", g.texts)
		g.addRule(name+"[lazy]", "%s %s", regex, tag)
		return name
	}
	rules, err := t.TextRules()
	if err != nil {
		return g.refuseText(t, err)
	}
	return nested(rules) + " " + tag
}

// nested returns rules as a part of another rule.
func nested(rules string) string { return "%lark {\n" + rules + "\n}" }

// refuseText records the error of a tool's rules.
func (g *grammar) refuseText(t Tool, err error) string {
	if g.err == nil {
		g.err = fmt.Errorf("the format of the tool %.80q, %w", t.Name, err)
	}
	return `""`
}
