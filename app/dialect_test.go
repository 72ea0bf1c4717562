package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/app/dialect"
	"tandem/engine/native"
)

// toolSchema has the types and keywords that parameters of tools mostly use.
const toolSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":0,"maximum":30},"exact":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"},"maxItems":3},"unit":{"enum":["C","F"]},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},"place":{"$ref":"#/$defs/place"}},
	"required":["city","days"],"additionalProperties":false,"$defs":{"place":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"],"additionalProperties":false}}}`

var testTools = []dialect.Tool{
	{Name: "get_weather", Parameters: json.RawMessage(toolSchema), Strict: true},
	{Name: "now"},
	{Name: "look", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"string"}}}`)},
}

// In every family a grammar of calls allows what the parser reads as calls of the tools. A family without
// calls, a parameter that cannot be written and an unknown tool have no grammar.
func TestCallGrammarAllowsOnlyTextThatIsReadAsCalls(t *testing.T) {
	for name, w := range writers {
		t.Run(name, func(t *testing.T) {
			tokens, end, v := w.vocabulary(t)
			for _, choice := range []dialect.Choice{{Parallel: true}, {}, {Tool: "get_weather"},
				{Tool: "now"}, {Tool: "look", Parallel: true}, {Answer: `"<" /[a-z]{1,9}/ ">"`}} {
				choice.Prompt = w.prompt
				rules, err := w.dialect().Grammar(testTools, choice)
				if err != nil {
					t.Fatal(err)
				}
				lark := rules.Lark
				if choice.Tool == "get_weather" || choice.Tool == "" {
					m := matcher(t, v, lark)
					ids := w.encode(tokens, w.text)
					for i, id := range ids {
						if !slices.Contains(follow(t, m), id) {
							t.Fatalf("%+v: the grammar refuses %q after %q:\n%s",
								choice, tokens[id], w.decode(tokens, ids[:i]), lark)
						}
						if err := m.Accept(id); err != nil {
							t.Fatal(err)
						}
					}
					if !slices.Contains(follow(t, m), end) {
						t.Errorf("%+v: the grammar refuses the end after %q", choice, w.text)
					}
					m.Close()
				}
				for i := range 6 {
					m := matcher(t, v, lark)
					text := w.walk(t, m, tokens, rand.New(rand.NewPCG(3, uint64(i))))
					m.Close()
					w.isCalls(t, choice, text)
				}
			}
		})
	}
	if _, err := (writer{}).dialect().Grammar(testTools, dialect.Choice{}); err == nil {
		t.Error("a family without calls has a grammar")
	}
	for _, name := range []string{"xml", "glm", "pythonic", "gemma4", "lfm"} {
		odd := dialect.Tool{Name: "f",
			Parameters: json.RawMessage(`{"type":"object","properties":{"a>:\n":{}},"required":["a>:\n"]}`)}
		if _, err := writers[name].dialect().Grammar([]dialect.Tool{odd},
			dialect.Choice{}); err == nil {
			t.Errorf("%s: a parameter that cannot be written has a grammar", name)
		}
	}
	if _, err := writers["xml"].dialect().Grammar(testTools,
		dialect.Choice{Tool: "x"}); err == nil {
		t.Error("an unknown tool has a grammar")
	}
}

// TestGrammarAndParserAgreeOnACallInAValue: where a grammar allows a value that holds a call, or the beginning of
// one, the parser reads all of it as the value.
func TestGrammarAndParserAgreeOnACallInAValue(t *testing.T) {
	for name, beginnings := range map[string][]string{
		"xml":              {"<tool_call>\n<function=now>\n<parameter=a>\nb", "<function=now></function>", "<function=f><parameter=city>b</parameter></function>!"},
		"glm, plain":       {"<tool_call>now\n<arg_key>a</arg_key>\n<arg_value>b", "<tool_call>now</tool_call>", "a <arg_value> b"},
		"atem":             {`<atem:invoke name="now"><atem:parameter name="a">b`, `<atem:invoke name="f"><atem:parameter name="a">b</atem:parameter></atem:invoke>!`},
		"xml, Functionary": {`<function=now>{\"a\": 1}</function>`},
	} {
		w := writers[name]
		tokens, end, v := w.vocabulary(t)
		rules, err := w.dialect().Grammar(testTools, dialect.Choice{Parallel: true, Prompt: w.prompt})
		if err != nil {
			t.Fatal(err)
		}
		for _, city := range beginnings {
			text := strings.Replace(w.text, "Bern", "So "+city, 1)
			m := matcher(t, v, rules.Lark)
			for _, id := range append(w.encode(tokens, text), end) {
				if !slices.Contains(follow(t, m), id) {
					t.Fatalf("%s: the grammar refuses %q in %q", name, tokens[id], text)
				}
				if err := m.Accept(id); id != end && err != nil {
					t.Fatal(err)
				}
			}
			m.Close()
			p := w.dialect().Parser(dialect.Options{Tools: testTools, Calls: true, Forced: true, Prompt: w.prompt})
			said := ""
			for _, part := range append(p.Push(text), p.Flush()...) {
				if part.Kind == dialect.Text || part.Kind == dialect.Arguments {
					said += part.Text
				}
			}
			var got struct{ City string }
			want := "So " + strings.ReplaceAll(city, `\"`, `"`)
			if err := json.Unmarshal([]byte(said), &got); err != nil || got.City != want {
				t.Errorf("%s: %q is read as %q, %v", name, text, said, err)
			}
		}
	}
}

// TestStringsOfForcedCallsKeepTheirLength: a grammar holds the strings of a call to minLength and
// maxLength in every family, also where strings have no quotes.
func TestStringsOfForcedCallsKeepTheirLength(t *testing.T) {
	for name, w := range writers {
		tokens, end, v := w.vocabulary(t)
		allows := func(city, text string) bool {
			schema := strings.Replace(toolSchema, `"city":{"type":"string"}`, `"city":`+city, 1)
			rules, err := w.dialect().Grammar([]dialect.Tool{{Name: "get_weather", Parameters: json.RawMessage(schema)}},
				dialect.Choice{Prompt: w.prompt})
			if err != nil {
				t.Fatal(err)
			}
			m := matcher(t, v, rules.Lark)
			defer m.Close()
			for _, id := range append(w.encode(tokens, text), end) {
				if !slices.Contains(follow(t, m), id) {
					return false
				}
				if id != end {
					if err := m.Accept(id); err != nil {
						t.Fatal(err)
					}
				}
			}
			return true
		}
		for city, want := range map[string]bool{
			`{"type":"string","maxLength":4}`:                                      true,
			`{"type":"string","maxLength":3}`:                                      false,
			`{"type":"string","minLength":4}`:                                      true,
			`{"type":"string","minLength":5}`:                                      false,
			`{"type":["string","null"],"minLength":1,"maxLength":2}`:               false,
			`{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}`:          false,
			`{"anyOf":[{"type":"null"},{"type":"string","maxLength":4}]}`:          true,
			`{"allOf":[{"type":"string"}],"type":"string","maxLength":1000000000}`: true,
			`{"type":"string","minLength":0,"maxLength":1}`:                        false,
		} {
			for _, text := range []string{w.text, strings.ReplaceAll(w.text, "Bern", "Zürn")} {
				if got := allows(city, text); got != want {
					t.Errorf("%s: %s allows %q: %t", name, city, text, got)
				}
			}
		}
	}
}

// Tools with rare names and schemas have grammars. A name that cannot be written is refused. A
// schema that cannot be held to fails with a GrammarError or not at all.
func TestToolWithARareNameOrSchemaHasAGrammar(t *testing.T) {
	odd := []dialect.Tool{
		{Name: "9:odd/na-me.é",
			Parameters: json.RawMessage(`{"type":"object","properties":{"x y\"\n":true,"z":{},"n":{"type":["integer","null"]},"e":{"enum":["a\"b\n\\","c"]},` +
				`"k":{"const":3},"m":{"enum":["a",1]},"r":{"$ref":"#/definitions/q"},"o":{"type":"object"}},"required":["e"],"definitions":{"q":{"type":"array","items":{"type":"string"}}}}`)},
		{Name: "any", Parameters: json.RawMessage(`true`)},
		{Name: "empty", Parameters: json.RawMessage(` { } `)},
		{Name: "required_only", Parameters: json.RawMessage(`{"type":"object","required":["x"]}`)},
	}
	for name, w := range writers {
		tokens, _, v := w.vocabulary(t)
		for _, tool := range odd {
			rules, err := w.dialect().Grammar([]dialect.Tool{tool},
				dialect.Choice{Parallel: true, Prompt: w.prompt})
			if err != nil {
				t.Fatal(err)
			}
			m := matcher(t, v, rules.Lark)
			text := w.walk(t, m, tokens, rand.New(rand.NewPCG(5, 0)))
			m.Close()
			p := w.dialect().Parser(dialect.Options{Tools: odd, Calls: true, Prompt: w.prompt})
			arguments := ""
			for _, part := range append(p.Push(text), p.Flush()...) {
				if part.Index == 0 {
					arguments += map[dialect.Kind]string{dialect.Arguments: part.Text,
						dialect.Text: part.Text}[part.Kind]
				}
			}
			if into := map[string]any{}; json.Unmarshal([]byte(arguments), &into) != nil {
				t.Errorf("%s: %q has the arguments %s, want a JSON object", name, text, arguments)
			}
		}
		for _, bad := range []string{"", "a b", "a>", "\"a\"", "a\n", strings.Repeat("a", 300)} {
			if _, err := w.dialect().Grammar([]dialect.Tool{{Name: bad}},
				dialect.Choice{}); err == nil {
				t.Errorf("%s: the tool name %q has a grammar", name, bad)
			}
		}
		for _, bad := range []string{`[]`, `7`,
			`{"type":"object","properties":{"a":{"type":"nothing"}},"required":["a"]}`} {
			rules, err := w.dialect().Grammar([]dialect.Tool{{Name: "bad",
				Parameters: json.RawMessage(bad), Strict: true}}, dialect.Choice{})
			if err != nil {
				if !strings.Contains(err.Error(), `"bad"`) {
					t.Errorf("%s, schema %s: %v does not name the tool", name, bad, err)
				}
				continue
			}
			m, err := v.Matcher(t.Context(), native.Grammar{Lark: rules.Lark})
			if err == nil {
				m.Close()
			}
			if _, ok := errors.AsType[*native.GrammarError](err); err != nil && !ok {
				t.Errorf("%s, schema %s: %v, want a GrammarError", name, bad, err)
			}
		}
	}
}

// matcher returns a matcher of the Lark grammar. The caller closes it.
func matcher(t *testing.T, v *native.Vocabulary, lark string) *native.Matcher {
	t.Helper()
	m, err := v.Matcher(t.Context(), native.Grammar{Lark: lark})
	if err != nil {
		t.Fatalf("%v in\n%s", err, lark)
	}
	return m
}

// follow returns the tokens that may follow.
func follow(t *testing.T, m *native.Matcher) []int32 {
	t.Helper()
	bits := make([]uint32, m.Words())
	if err := m.Mask(bits); err != nil {
		t.Fatal(err)
	}
	var ids []int32
	for id := range int32(len(bits) * 32) {
		if bits[id/32]>>(id%32)&1 != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// picks tokens that close the open parts.
func (w writer) walk(t *testing.T, m *native.Matcher, tokens []string, rng *rand.Rand) string {
	t.Helper()
	var b strings.Builder
	script := ""
	for step := range 4000 {
		ids := follow(t, m)
		pick := ids[rng.IntN(len(ids))]
		if slices.Contains(ids, int32(len(tokens)-1)) {
			pick = int32(len(tokens) - 1)
		} else if step > 30 && len(ids) > 40 { // inside a free part
			if script == "" {
				script = strings.Join(w.ends, "") + `"`
			}
			for script != "" {
				next := w.encode(tokens, script)[0]
				script = script[len(tokens[next]):]
				if slices.Contains(ids, next) {
					pick = next
					break
				}
			}
		} else if step > 30 {
			for _, c := range "\n\"])}" {
				if slices.Contains(ids, c) {
					pick = c
				}
			}
			for _, id := range ids {
				if id >= 256 {
					pick = id
				}
			}
			if slices.Contains(ids, '/') { // a closing tag, not another opening one
				pick = '/'
			}
		}
		if tokens[pick] == "<end>" {
			return b.String()
		}
		b.WriteString(tokens[pick])
		if err := m.Accept(pick); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("the grammar has no end after 4000 steps: %q", b.String())
	return ""
}

// isCalls fails the test unless the text is what the choice asks for: calls of testTools with
// valid arguments, or the answer in the choice's form.
func (w writer) isCalls(t *testing.T, choice dialect.Choice, text string) {
	t.Helper()
	p := w.dialect().Parser(dialect.Options{Tools: testTools, Calls: true, Prompt: w.prompt})
	names, arguments, said := []string{}, []string{}, ""
	for _, part := range append(p.Push(text), p.Flush()...) {
		switch part.Kind {
		case dialect.Call:
			names, arguments = append(names, part.Name), append(arguments, "")
		case dialect.Arguments:
			arguments[part.Index] += part.Text
		case dialect.Text:
			said += part.Text
		}
	}
	if answer := strings.HasPrefix(said, "<") && strings.HasSuffix(said, ">"); said != "" &&
		(choice.Answer == "" || !answer || len(names) > 0) {
		t.Errorf("%q has the text %q beside %d calls", text, said, len(names))
	}
	if len(names) == 0 && said == "" || len(names) > 1 && !choice.Parallel {
		t.Errorf("%q has %d calls, parallel calls %t", text, len(names), choice.Parallel)
	}
	for i, name := range names {
		if choice.Tool != "" && name != choice.Tool ||
			!slices.ContainsFunc(testTools,
				func(tool dialect.Tool) bool { return tool.Name == name }) {
			t.Errorf("%q calls %q, want a tool of the request and the choice %q",
				text, name, choice.Tool)
		}
		d := json.NewDecoder(strings.NewReader(arguments[i]))
		d.DisallowUnknownFields()
		var into any = new(map[string]any)
		if name == "get_weather" {
			into = new(struct {
				City  *string
				Days  *int
				Exact *bool
				Tags  []string
				Unit  string
				Note  *string
				Place *struct{ X float64 }
			})
		}
		if err := d.Decode(into); err != nil {
			t.Errorf("%q calls %s with %s: %v", text, name, arguments[i], err)
		}
	}
}

// A recorded template renders a turn with calls, and the dialect that is detected in the template
// reads the same calls in it.
func TestDialectReadsTheCallsThatItsTemplateRenders(t *testing.T) {
	b, err := os.ReadFile("../engine/native/testdata/templates.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Templates map[string]string }
	if err := json.Unmarshal(b, &recorded); err != nil {
		t.Fatal(err)
	}
	special := []string{"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>",
		"<|call|>", "[TOOL_CALLS]", "<|python_tag|>"}
	for name, want := range map[string]struct {
		dialect string
		calls   int    // that the template prints of a message
		end     string // of the turn
	}{
		"qwen3": {"tool_call", 2, "<|im_end|>\n"}, "llama3": {"json", 1, "<|eot_id|>"},
		"mistral": {"mistral", 2, "</s>"}, "gpt_oss": {"harmony", 1, ""},
		"gemma3": {"plain", 0, ""}, "chatml": {"tool_call", 0, ""},
	} {
		source, ok := recorded.Templates[name]
		if !ok {
			t.Fatalf("there is no template %s", name)
		}
		d := dialect.Detect(source, func(text string) (int32, bool, bool) {
			i := slices.Index(special, text)
			return int32(i), i >= 0, i >= 0
		})
		if d.Name() != want.dialect || d.Tools() != (want.dialect != "plain") {
			t.Errorf("%s has the dialect %s with calls %t, want %s", name, d.Name(), d.Tools(),
				want.dialect)
		}
		if want.calls == 0 {
			continue
		}
		tm, err := native.NewTemplate(source, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tm.Close()
		calls := []string{}
		for i := range want.calls {
			calls = append(calls,
				fmt.Sprintf(`{"id":"abcdefgh%d","type":"function","function":{"name":"get_weather","arguments":%s}}`,
					i, wholeArguments))
		}
		render := func(more string, prompt bool) string {
			text, err := tm.Render(t.Context(), fmt.Appendf(nil,
				`{"bos_token":"","eos_token":"</s>","documents":null,"add_generation_prompt":%t,"tools":[{"type":"function","function":{"name":"get_weather","description":"d","parameters":%s}}],
				"messages":[{"role":"user","content":"Hi"}%s]}`, prompt, toolSchema, more))
			if err != nil {
				t.Fatalf("%s does not render: %v", name, err)
			}
			return text
		}
		prompt := render("", true)
		whole := render(`,{"role":"assistant","content":"","tool_calls":[`+strings.Join(calls,
			",")+`]}`, false)
		answer, ok := strings.CutPrefix(whole, prompt)
		if !ok {
			t.Fatalf("%s: %q does not begin with %q", name, whole, prompt)
		}
		p := d.Parser(dialect.Options{Tools: testTools, Calls: true, Prompt: prompt})
		found, arguments := 0, ""
		for _, part := range append(p.Push(strings.TrimSuffix(answer, want.end)), p.Flush()...) {
			switch part.Kind {
			case dialect.Call:
				found++
			case dialect.Arguments:
				arguments += part.Text
			default:
				t.Errorf("%s: %q has the part %+v, want parts of calls only", name, answer, part)
			}
		}
		if found != want.calls || arguments != strings.Repeat(wholeArguments, found) {
			t.Errorf("%s: %q has %d calls with the arguments %s, want %d calls",
				name, answer, found, arguments, want.calls)
		}
	}
}
