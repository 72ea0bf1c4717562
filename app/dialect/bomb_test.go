package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// families holds a template for each dialect with calls, by the dialect's name.
var families = map[string]string{
	"harmony":       "<|channel|> <|message|>",
	"gemma4":        `<|tool_call> <|"|>`,
	"functiongemma": "<start_function_call> <escape>",
	"deepseek":      "<｜tool▁call▁begin｜>",
	"mistral":       "[TOOL_CALLS]",
	"xml":           "<tool_call> <function=",
	"glm":           "<tool_call> <arg_key>",
	"phi":           "<|tool_call|>",
	"tool_call":     "<tool_call>",
	"pythonic":      "func_name1(",
	"tool_code":     "```tool_code",
	"json":          `"parameters": {"name": `,
}

// TestHugeSchemaIsReadWithinBounds: reading these schemas in full would take all time or memory.
// The package reads them up to its bounds, and does not write a grammar that is too large to
// compile.
func TestHugeSchemaIsReadWithinBounds(t *testing.T) {
	list := func(n int, format string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i))
		}
		return strings.Join(parts, ",")
	}
	const self = `{"$ref":"#/$defs/a"}`
	large := `{"type":"object","description":"` + strings.Repeat("x", maxSchema/20) + `"}`
	for name, parameters := range map[string]string{
		"branches of branches": `{"type":"object","properties":{"x":` + self +
			`},"$defs":{"a":{"anyOf":[` + list(100, `{"$ref":"#/$defs/a","title":"%d"}`) + `]}}}`,
		"branches by both names": `{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#/definitions/a"},` +
			self + `]}},"$defs":{"a":{"oneOf":[` +
			list(50, `{"$ref":"#/definitions/a","title":"%d"}`) +
			`]}},"definitions":{"a":{"anyOf":[` + list(50, `{"$ref":"#/$defs/a","title":"%d"}`) +
			`]}}}`,
		"many of many": `{"type":"object","properties":{` + list(300, `"p%d":`+self) +
			`},"$defs":{"a":{"anyOf":[` + list(100, `{"$ref":"#/$defs/a","title":"%d"}`) + `]}}}`,
		"a circle": `{"type":"object","properties":{"x":` + self + `},"$defs":{"a":` +
			self + `}}`,
		"itself": `{"type":"object","properties":{"x":{"$ref":"#"}}}`,
		"many optional": `{"type":"object","properties":{` +
			list(20_000, `"p%d":{"type":"string"}`) + `}}`,
		"many required": `{"type":"object","properties":{` + list(20_000, `"p%d":{}`) +
			`},"required":[` + list(20_000, `"p%d"`) + `]}`,
		"many values": `{"type":"object","properties":{"x":{"enum":[` +
			list(50_000, `"v%d"`) + `]}}}`,
		"large definitions": `{"type":"object","properties":{` +
			list(1000, `"p%d":{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":` + large + `}}`,
		"too large": `{"type":"object","properties":{"x":{"description":"` +
			strings.Repeat("x", maxSchema) + `"}}}`,
		"no schema": `7`,
		"lists":     `{"properties":[],"required":{},"anyOf":{},"$defs":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			tool := Tool{Name: "go", Parameters: json.RawMessage(parameters)}
			for family, template := range families {
				d := Detect(template, func(string) (int32, bool, bool) { return 0, false, false })
				if d.Name() != family || !d.Tools() {
					t.Fatalf("%s is %s", template, d.Name())
				}
				rules, err := d.Grammar([]Tool{tool}, Choice{Tool: "go"})
				otherError := err != nil && !strings.Contains(err.Error(), "more than 1 MiB")
				if len(rules.Lark) > 8*maxSchema || otherError {
					t.Errorf("%s: %d bytes, %v", family, len(rules.Lark), err)
				}
			}
			kindOf(tool.Parameters, "x")
		})
	}
}
