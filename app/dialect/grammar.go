package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tandem/app/jsonschema"
)

// A Choice says which calls an answer may or must make.
type Choice struct {
	Tool     string // the only tool that may be called; "": any
	Parallel bool   // an answer may make several calls
	Prompt   string // the end of the rendered prompt, see [Options]
	Answer   string // a Lark rule for an answer without calls; empty: the answer must be a call
}

// Rules are a grammar in llguidance's dialect of Lark.
type Rules struct {
	Lark  string
	Tools map[string]string // the tool of each rule that holds a call of one
}

// Grammar returns a grammar that accepts an answer that is one call of a tool, several calls, or an
// answer by Choice.Answer. A thought may come first if the dialect has thoughts.
//
// It returns an error for
//   - a family without tool calls, if Choice.Answer is empty
//   - a choice of an unknown tool, if Choice.Answer is empty
//   - a name that a grammar cannot require
//   - a schema that no grammar can express
//   - schemas whose grammar is too large
//
// The error of one schema names the tool and the place in it.
func (d *Dialect) Grammar(tools []Tool, choice Choice) (Rules, error) {
	if d.calls == nil && choice.Answer == "" {
		return Rules{}, errors.New("the models of this family have no calls of tools")
	}
	g := &grammar{dialect: d, parallel: choice.Parallel, made: map[string]bool{},
		owners: map[string]string{}}
	for _, t := range tools {
		if choice.Tool != "" && choice.Tool != t.Name {
			continue
		}
		if len(t.Name) > maxName || !callable.MatchString(t.Name) {
			return Rules{}, fmt.Errorf("the name %.80q of a tool must match the pattern %s, in at most %d bytes",
				t.Name, callable, maxName)
		}
		g.tools = append(g.tools, t)
	}
	calls := d.calls != nil && len(g.tools) > 0
	switch {
	case calls && choice.Answer != "":
		g.addStart(choice.Prompt, "(calls | answer)")
	case calls:
		g.addStart(choice.Prompt, "calls")
	case choice.Answer != "":
		g.addStart(choice.Prompt, "answer")
	default:
		return Rules{}, fmt.Errorf("there is no tool %q to choose", choice.Tool)
	}
	if calls {
		d.calls.grammar(g)
	}
	switch {
	case choice.Answer == "":
	case d.messages != nil:
		d.messages.final(g, choice.Answer)
	default:
		g.addRule("answer", "%s", choice.Answer)
	}
	if g.isFull() {
		return Rules{}, g.err
	}
	return Rules{g.rules.String(), g.owners}, nil
}

// callable matches the names that every family can write in a call.
var callable = regexp.MustCompile(`^[^\s<>\[\]{}()"'=,]+$`)

// A grammar collects the rules of a [Rules].
type grammar struct {
	dialect  *Dialect
	tools    []Tool
	parallel bool
	rules    strings.Builder
	made     map[string]bool   // the names that addRuleOnce has added
	owners   map[string]string // the tools of rules
	forms    int               // forms of schemas, for the names of their rules
	chains   int               // chains of optional arguments, see function
	texts    int               // rules of texts, see plainText
	err      error             // the first error
}

// isFull reports whether the grammar has an error, which it sets if the grammar is too large.
func (g *grammar) isFull() bool {
	if g.err == nil && g.rules.Len() > 8*maxSchema {
		g.err = fmt.Errorf("the schemas of the tools make more than %d MiB", 8*maxSchema>>20)
	}
	return g.err != nil
}

// addRule adds a rule. The format gives its body.
func (g *grammar) addRule(name, format string, args ...any) {
	fmt.Fprintf(&g.rules, "%s: ", name)
	fmt.Fprintf(&g.rules, format, args...)
	g.rules.WriteByte('\n')
}

// addRuleOnce adds a rule unless it has added one of that name before.
func (g *grammar) addRuleOnce(name, format string, args ...any) {
	if !g.made[name] {
		g.made[name] = true
		g.addRule(name, format, args...)
	}
}

// addStart adds the rule of the whole answer. said is the rule of the text after a thought.
func (g *grammar) addStart(prompt, said string) {
	thought, prompt := g.dialect.thought, strings.TrimSpace(prompt)
	// Answers of messages have no tags of thoughts: their own rules add the thought.
	if thought.open == "" || strings.HasSuffix(prompt, thought.close) {
		g.addRule("start", "%s", said)
		return
	}
	body := g.textUntil(thought.close) + ` /\n{0,2}/`
	if strings.HasSuffix(prompt, thought.open) {
		g.addRule("start", "%s %s", body, said)
		return
	}
	g.addRule("start", `(%s %s)? %s`, g.token(thought.open), body, said)
}

// token returns the rule of a tag. A special token is written by its number, because no text
// matches it.
func (g *grammar) token(text string) string {
	if id, special, ok := g.dialect.vocabulary(text); ok && special {
		return fmt.Sprintf("<[%d]>", id)
	}
	if token, rest := tokenOf(text); rest != "" {
		return g.token(token) + " " + quote(rest)
	}
	return quote(text)
}

// textUntil returns the rule of any text up to and including end.
func (g *grammar) textUntil(end string) string { return g.until(anyText, end) }

// anyText is a regular expression.
const anyText = `(.|\n)*`

// until returns the rule of a text that matches a regular expression, up to and including end.
func (g *grammar) until(regex, end string) string {
	if _, special, ok := g.dialect.vocabulary(end); ok && special {
		return "/" + regex + "/ " + g.token(end)
	}
	name := "until"
	for _, r := range strings.TrimPrefix(regex, anyText) + end {
		name += fmt.Sprintf("_%x", r)
	}
	g.addRuleOnce(name+"[lazy]", "/%s%s/", regex, quoteRegex(end))
	return name
}

// repeat returns a rule for several of rule, with between in the middle. It returns rule itself if
// only one call may come.
func (g *grammar) repeat(rule, between string) string {
	if !g.parallel {
		return rule
	}
	if between == `""` {
		return rule + "+"
	}
	return fmt.Sprintf("%s (%s %s)*", rule, between, rule)
}

// addRulePerTool adds one rule for each tool and returns the rule that is any of them.
func (g *grammar) addRulePerTool(write func(t Tool) string) string {
	names := make([]string, len(g.tools))
	for i, t := range g.tools {
		names[i] = fmt.Sprintf("call_%d", i)
		g.owners[names[i]] = t.Name
		g.addRule(names[i], "%s", write(t))
	}
	return "(" + strings.Join(names, " | ") + ")"
}

// arguments returns the rule of a tool's arguments as JSON. They are an object, even if the tool's
// schema does not say so.
func (g *grammar) arguments(t Tool) string {
	if t.Text != "" {
		return g.textObject(t)
	}
	d, err := jsonschema.Read(schemaOf(t))
	if err != nil {
		return g.fail(t, err)
	}
	f, err := g.form(t, d, jsonschema.Options{Object: true})
	return g.use(t, f, err)
}

// schemaOf returns the schema of a tool's arguments.
func schemaOf(t Tool) json.RawMessage {
	if text := strings.TrimSpace(string(t.Parameters)); text == "" || text == "null" {
		return json.RawMessage("true")
	}
	return t.Parameters
}

// form returns the form of a part of a tool's schema.
func (g *grammar) form(t Tool, d *jsonschema.Document, o jsonschema.Options) (*jsonschema.Form,
	error) {
	if g.isFull() {
		return nil, g.err
	}
	g.forms++
	o.Strict, o.Rules = t.Strict, fmt.Sprintf("json_%d", g.forms)
	return d.Compile(o)
}

// use returns the rule of a value by a form.
func (g *grammar) use(t Tool, f *jsonschema.Form, err error) string {
	if err != nil {
		return g.fail(t, err)
	}
	g.rules.WriteString(f.Rules)
	return f.Value
}

// fail records the first error of a tool's schema.
func (g *grammar) fail(t Tool, err error) string {
	g.err = cmp.Or(g.err, fmt.Errorf("the schema of the tool %.80q, %w", t.Name, err))
	return `""`
}

// quote returns a string as a Lark literal, which is spelled as JSON.
func quote(text string) string { return string(appendString(nil, text)) }

// quoteRegex returns a regular expression that matches only text.
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

// object returns the rule of a call as JSON, with the arguments under key. before and after
// surround the object.
func (g *grammar) object(t Tool, before, key, after string) string {
	head := quote(before + `{"name": ` + quote(t.Name) + `, "` + key + `": `)
	return fmt.Sprintf("%s %s %s", head, g.arguments(t), quote("}"+after))
}

// objects returns the rule of a call of any tool as JSON, with the arguments under key.
func (g *grammar) objects(key string) string {
	return g.addRulePerTool(func(t Tool) string { return g.object(t, "", key, "") })
}

// list returns the rule of a list of calls in brackets.
func (g *grammar) list(call string) string {
	return fmt.Sprintf("%s %s %s", quote("["), g.repeat(call, quote(", ")), quote("]"))
}

// member returns the rule of a property's member of a call, after a space.
func (p property) member(rule string) string {
	if !p.required {
		return " (" + rule + ")?"
	}
	return " " + rule
}

// function returns the rule of a call in a function's form. literal returns the rule of one value.
func (g *grammar) function(t Tool, s *functionSyntax, literal func(property) string) string {
	between := ", "
	if s.sep == ':' {
		between = ","
	}
	var required, optional []string
	for _, p := range g.properties(t, s.writes) {
		member := quote(p.name+string(s.sep)) + " " + literal(p)
		if p.required {
			required = append(required, member)
		} else {
			optional = append(optional, member)
		}
	}
	members := strings.Join(required, " "+quote(between)+" ")
	if len(required) == 0 && len(optional) > 0 { // the first one written has no comma before it
		g.chains++
		rest := func(i int) string { // the rule of the members that may follow the i-th
			if i+1 == len(optional) {
				return ""
			}
			return fmt.Sprintf(" rest_%d_%d", g.chains, i)
		}
		var firsts []string
		for i, first := range optional {
			firsts = append(firsts, first+rest(i))
			if i > 0 {
				name := strings.TrimSpace(rest(i - 1))
				g.addRule(name, "(%s %s)?%s", quote(between), first, rest(i))
			}
		}
		members = "(" + strings.Join(firsts, " | ") + ")?"
	} else {
		for _, next := range optional {
			members += fmt.Sprintf(" (%s %s)?", quote(between), next)
		}
	}
	return fmt.Sprintf("%s %s %s",
		quote(t.Name+string(s.open)), members, quote(string(s.close)))
}

// scalar returns the rule of a property in a dialect with its own literals. rules has one rule for
// each type, any is the rule of all other values, and text spells one string.
func scalar(p property, rules map[string]string, any string, text func(string) string) string {
	var list []string
	for _, t := range p.types {
		switch {
		case rules[t] == "":
			return any
		case t == "string" && p.texts != nil, t == "integer" && p.numbers != nil,
			t == "number" && p.numbers != nil:
		default:
			list = append(list, rules[t])
		}
	}
	for _, spelling := range p.numbers {
		list = append(list, quote(spelling))
	}
	if slices.Contains(p.types, "string") {
		for _, t := range p.texts {
			list = append(list, text(t))
		}
	}
	if list == nil {
		return any
	}
	return "(" + strings.Join(list, " | ") + ")"
}

// A property is one parameter of a tool.
type property struct {
	tool     Tool
	name     string
	form     *jsonschema.Form
	err      error    // why form is nil
	types    []string // JSON types; nil: any
	texts    []string // the strings allowed; nil: any
	numbers  []string // the numbers allowed, as the schema spells them; nil: any
	length   length
	kind     kind
	required bool
}

// properties returns a tool's parameters in the order of its schema. It leaves out an optional one
// that has no value, or whose name the dialect cannot write. It sets g.err if it is required.
func (g *grammar) properties(t Tool, writes func(name string) bool) []property {
	if len(t.Parameters) > maxSchema {
		g.fail(t, fmt.Errorf("it has more than %d MiB", maxSchema>>20))
		return nil
	}
	root, required := readParameters(t.Parameters), map[string]bool{}
	for _, name := range root.Required {
		required[name] = true
	}
	d, err := jsonschema.Read(schemaOf(t))
	if err != nil {
		g.fail(t, err)
		return nil
	}
	var list []property
	for _, name := range memberNames(root.raw["properties"]) {
		if !writes(name) {
			if required[name] {
				err := fmt.Errorf("no call of %q can have a parameter %.80q", t.Name, name)
				g.err = cmp.Or(g.err, err)
			}
			continue
		}
		p := property{tool: t, name: name, kind: root.kindOf(name), required: required[name]}
		p.form, p.err = g.form(t, d, jsonschema.Options{At: []string{"properties", name}})
		e, ok := errors.AsType[*jsonschema.Error](p.err)
		if ok && e.Impossible && !p.required {
			continue
		}
		p.types, p.texts, p.numbers = root.shape(root.read(root.Properties[name]))
		p.length = root.lengthOf(root.read(root.Properties[name]), 0)
		list = append(list, p)
	}
	return list
}

// value returns the rule of a property's value as JSON.
func (g *grammar) value(p property) string {
	return g.use(p.tool, p.form, p.err)
}

// memberNames returns the names of a JSON object's members in their order, each once. It returns
// nil if object is not a JSON object.
func memberNames(object json.RawMessage) []string {
	var list []string
	seen := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, key)
		}
	}
	return list
}
