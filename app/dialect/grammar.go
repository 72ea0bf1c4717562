package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Choice says which calls an answer must be.
type Choice struct {
	Tool     string // the only tool there may be; empty: any
	Parallel bool   // several calls, too
	Prompt   string // as of Options
}

// Grammar returns the rules, in llguidance's dialect of Lark, of an answer that is one call of a
// tool, or several, behind a thought if the dialect has them.
func (d *Dialect) Grammar(tools []Tool, choice Choice) (lark string, err error) {
	if d.calls == nil {
		return "", errors.New("the models of this family have no calls of tools")
	}
	g := &grammar{dialect: d, parallel: choice.Parallel}
	for _, t := range tools {
		if choice.Tool == "" || choice.Tool == t.Name {
			g.tools = append(g.tools, t)
		}
	}
	if len(g.tools) == 0 {
		return "", fmt.Errorf("there is no tool %q to choose", choice.Tool)
	}
	g.start(choice.Prompt)
	d.calls.grammar(g)
	return g.rules.String(), g.err
}

// A grammar is being written.
type grammar struct {
	dialect  *Dialect
	tools    []Tool
	parallel bool
	rules    strings.Builder
	err      error
}

// rule adds a rule.
func (g *grammar) rule(name string, format string, args ...any) {
	fmt.Fprintf(&g.rules, "%s: ", name)
	fmt.Fprintf(&g.rules, format, args...)
	g.rules.WriteByte('\n')
}

// start adds the rule of the whole answer.
func (g *grammar) start(prompt string) {
	thought := g.dialect.thought
	if thought.open == "" {
		g.rule("start", "calls")
		return
	}
	body := "thought_text " + g.token(thought.close) + ` /\n{0,2}/`
	if _, special, ok := g.dialect.vocabulary(thought.close); ok && special {
		g.rule("thought_text", `/(.|\n)*/`)
	} else {
		body = `thought_text /\n{0,2}/`
		g.rule("thought_text[lazy]", `/(.|\n)*%s/`, strings.ReplaceAll(quoteRegex(thought.close), "/", `\/`))
	}
	if strings.HasSuffix(strings.TrimSpace(prompt), thought.open) {
		g.rule("start", "%s calls", body)
		return
	}
	g.rule("start", `(%s %s)? calls`, g.token(thought.open), body)
}

// token returns a text as it stands in a rule: by its token's number if that is special, since no
// text has it then.
func (g *grammar) token(text string) string {
	if id, special, ok := g.dialect.vocabulary(text); ok && special {
		return fmt.Sprintf("<[%d]>", id)
	}
	return quote(text)
}

// several returns what repeats rule, apart by between, or the rule alone.
func (g *grammar) several(rule, between string) string {
	if !g.parallel {
		return rule
	}
	return fmt.Sprintf("%s (%s %s)*", rule, between, rule)
}

// each adds one rule a tool and returns their alternatives.
func (g *grammar) each(prefix string, write func(t Tool) string) string {
	names := make([]string, len(g.tools))
	for i, t := range g.tools {
		names[i] = fmt.Sprintf("%s_%d", prefix, i)
		g.rule(names[i], "%s", write(t))
	}
	return "(" + strings.Join(names, " | ") + ")"
}

// spacing is the white space between the parts of JSON: without a bound a model may never come to
// its end.
const spacing = `[\x20\x0A\x0D\x09]{1,32}`

// schema returns JSON by a schema as it stands in a rule.
func (g *grammar) schema(s json.RawMessage, strict bool) string {
	if len(s) == 0 || string(s) == "null" {
		s = json.RawMessage(`{"type":"object"}`)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(s, &members); err != nil || members == nil {
		return "%json " + string(s) // true, which is any
	}
	if members["x-guidance"] == nil {
		how, err := json.Marshal(map[string]any{"whitespace_pattern": spacing, "lenient": !strict})
		if err != nil {
			panic(err) // a string and a bool
		}
		rest := strings.TrimLeft(string(s), " \t\r\n")[1:]
		comma := ","
		if len(members) == 0 {
			comma = ""
		}
		s = json.RawMessage(`{"x-guidance":` + string(how) + comma + rest)
	}
	return "%json " + string(s)
}

// quote returns a text as a literal of Lark, which is spelled as JSON.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return string(b)
}

// quoteRegex returns a regular expression of that text alone.
func quoteRegex(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\.+*?()|[]{}^$&~/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (tagged) grammar(g *grammar) {
	call := g.each("call", func(t Tool) string {
		name := quote(t.Name)
		return fmt.Sprintf(`%s %s %s %s`, g.token(toolCall.open), quote("\n{\"name\": "+name+", \"arguments\": "), g.schema(t.Parameters, t.Strict),
			quote("}\n")+" "+g.token(toolCall.close))
	})
	g.rule("calls", "%s", g.several(call, quote("\n")))
}
