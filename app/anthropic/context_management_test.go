package anthropic_test

import (
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestContextManagementIsRefusedWhereItIsDue: no edit takes anything out of a conversation. Before its
// trigger there is nothing to do; from then on the request is refused. Claude Code asks to keep all
// thoughts, which is what happens.
func TestContextManagementIsRefusedWhereItIsDue(t *testing.T) {
	const talk = `"messages":[{"role":"user","content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"}]}]`
	for edit, want := range map[string]string{
		`{"type":"clear_thinking_20251015","keep":"all"}`:                                                                          "",
		`{"type":"clear_thinking_20251015","keep":{"type":"all"}}`:                                                                 "",
		`{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":2}}`:                                            "edits[0].keep must be \\\"all\\\"",
		`{"type":"clear_thinking_20251015"}`:                                                                                       "edits[0].keep must be",
		`{"type":"clear_thinking_20251015","keep":7}`:                                                                              "edits[0].keep must be",
		`{"type":"clear_tool_uses_20250919"}`:                                                                                      "",
		`{"type":"clear_tool_uses_20250919","keep":{"type":"tool_uses","value":3},"clear_tool_inputs":true}`:                       "",
		`{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":40}}`:                                         "",
		`{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":39}}`:                                         "The prompt has 40 tokens, more than the 39 of context_management.edits[0].trigger",
		`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":2}}`:                                             "",
		`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1}}`:                                             "has 2 tool uses",
		`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses"}}`:                                                       "trigger.value is missing",
		`{"type":"clear_tool_uses_20250919","trigger":{"type":"minutes","value":1}}`:                                               "trigger.type must be",
		`{"type":"compact_20260112"}`:                                                                                              "",
		`{"type":"compact_20260112","instructions":"x","trigger":{"type":"input_tokens","value":10}}`:                              "The prompt has 40 tokens",
		`{"type":"clear_thinking_20251015","keep":"all"},{"type":"compact_20260112","trigger":{"type":"input_tokens","value":10}}`: "edits[1].trigger",
		`{"type":"forget"}`: "edits[0].type must be",
		`{}`:                "edits[0].type must be",
		`7`:                 "edits[0] must be an object",
	} {
		for path, more := range map[string]string{"/v1/messages": `,"max_tokens":9`, "/v1/messages/count_tokens": ""} {
			fake := roomtest.Speaking("ok")
			w := roomtest.Post(serve(fake), path, `{"model":"tandem"`+more+`,"context_management":{"edits":[`+edit+`]},`+talk+`}`)
			if (w.Code == 400) != (want != "") || w.Code != 200 && w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s: %d %s, want %q", path, edit, w.Code, w.Body, want)
			}
		}
	}
}
