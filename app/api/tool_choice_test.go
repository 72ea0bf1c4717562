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

// TestToolChoiceHasTheTypeOfItsTool: a choice of another type means another tool, which is not there.
func TestToolChoiceHasTheTypeOfItsTool(t *testing.T) {
	inChat := func(kind, name string) string {
		return `{"type":"` + kind + `","` + kind + `":{"name":"` + name + `"}}`
	}
	inResponse := func(kind, name string) string { return `{"type":"` + kind + `","name":"` + name + `"}` }
	for path, in := range map[string]struct {
		body string
		tool func(kind, name string) string
	}{
		"/v1/chat/completions": {`{"model":"tandem","messages":[{"role":"user","content":"x"}],"tools":[`, inChat},
		"/api/chat":            {`{"model":"tandem","messages":[{"role":"user","content":"x"}],"tools":[`, inChat},
		"/v1/responses":        {`{"model":"tandem","input":"x","tools":[`, inResponse},
	} {
		tools := in.body + in.tool("function", "go") + `,` + in.tool("custom", "ap") + `]`
		chooses := func(body, choice string) (int, string) {
			w := roomtest.Post(serve(roomtest.Speaking(roomtest.GoCall)), path, body+`,"tool_choice":`+choice+`}`)
			return w.Code, w.Body.String()
		}
		for _, form := range []func(kind, name string) string{inChat, inResponse} {
			for name, kinds := range map[string][2]string{"go": {"function", "custom"}, "ap": {"custom", "function"}} {
				says := `tool_choice names \"` + name + `\" with the type \"` + kinds[1] + `\", but its type is \"` +
					kinds[0] + `\".`
				for _, other := range []string{
					form(kinds[1], name),
					`{"type":"allowed_tools","mode":"auto","tools":[` + form(kinds[1], name) + `]}`,
					`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + form(kinds[1], name) + `]}}`,
				} {
					if code, body := chooses(tools, other); code != 400 || !strings.Contains(body, says) {
						t.Errorf("%s %s: %d %s", path, other, code, body)
					}
					own := strings.ReplaceAll(other, `"`+kinds[1]+`"`, `"`+kinds[0]+`"`)
					if code, body := chooses(tools, own); code != 200 {
						t.Errorf("%s %s: %d %s", path, own, code, body)
					}
				}
			}
		}
	}
	const shell = `{"model":"tandem","input":"x","tools":[{"type":"shell"}],"tool_choice":`
	for choice, code := range map[string]int{`{"type":"shell"}`: 200, `{"type":"function","name":"shell"}`: 400,
		`{"name":"shell"}`: 200, `{"type":"tool","name":"shell"}`: 200} {
		w := roomtest.Post(serve(roomtest.Speaking("x")), "/v1/responses", shell+choice+"}")
		if w.Code != code || code == 400 && !strings.Contains(w.Body.String(), `but its type is \"shell\".`) {
			t.Errorf("%s: %d %s", choice, w.Code, w.Body)
		}
	}
}
