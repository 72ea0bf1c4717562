package api_test

import (
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestToolChoiceIsReadInTheFormOfEachVendor: agents that speak to several vendors keep the form of
// one. A choice that asks for a call holds the answer to it, and a name admits that tool alone.
func TestToolChoiceIsReadInTheFormOfEachVendor(t *testing.T) {
	const flatTools = `"tools":[{"type":"function","name":"look"},{"type":"function","name":"go"}]`
	bodies := map[string]string{
		"/v1/chat/completions": `{"model":"tandem","messages":[{"role":"user","content":"x"}],` + roomtest.TwoTools,
		"/v1/responses":        `{"model":"tandem","input":"x",` + flatTools,
		"/api/chat": `{"model":"tandem","stream":false,` +
			`"messages":[{"role":"user","content":"x"}],` + roomtest.TwoTools,
	}
	const free, both, one = "free", "both", "one"
	for choice, want := range map[string]string{
		`{"type":"none"}`:                              free,
		`{"type":"auto"}`:                              free,
		`{"type":"any"}`:                               both,
		`{"type":"required"}`:                          both,
		`{"type":"tool","name":"go"}`:                  one,
		`{"type":"tool","function":{"name":"go"}}`:     one,
		`{"type":"function","name":"go"}`:              one,
		`{"type":"function","function":{"name":"go"}}`: one,
		`{"function":{"name":"go"}}`:                   one,
		`{"name":"go"}`:                                one,
	} {
		for path, body := range bodies {
			fake := roomtest.Speaking(roomtest.GoCall)
			w := roomtest.Post(serve(fake), path, body+`,"tool_choice":`+choice+"}")
			got := free
			if list := fake.Model.Grammars; len(list) == 1 && strings.Contains(list[0].Lark, `\"look\"`) {
				got = both
			} else if len(list) == 1 {
				got = one
			}
			if w.Code != 200 || got != want {
				t.Errorf("%s %s: %d %s, held to %s, want %s", path, choice, w.Code, w.Body, got, want)
			}
		}
	}
	for choice, deep := range map[string]string{
		`{"type":"tool"}`:                    "tool_choice.function is missing",
		`{"type":"tool","name":"elsewhere"}`: "which is not in tools",
		`{"type":"often"}`:                   "allowed_tools",
	} {
		for path, body := range bodies {
			w := roomtest.Post(serve(roomtest.Speaking(roomtest.GoCall)), path,
				body+`,"tool_choice":`+choice+"}")
			if w.Code != 400 || !strings.Contains(w.Body.String(), deep) {
				t.Errorf("%s %s: %d %s", path, choice, w.Code, w.Body)
			}
		}
	}
}
