package native

import (
	"fmt"
	"regexp"
	"strings"
)

// maxMessage bounds the bytes of an error of llguidance.
const maxMessage = 300

var (
	// atPlace begins an error in a Lark grammar: "at 2(9): failed to compile JSON schema: ", or one in its
	// syntax: "2(9): ".
	atPlace = regexp.MustCompile(`^(?:at )?(\d+)\((\d+)\): (failed to compile JSON schema: )?`)
	// anExcerpt begins the lines of the grammar that follow the error.
	anExcerpt = regexp.MustCompile(`(?m)^ *\d+ \| `)
	// overlapping is an error about two patterns.
	overlapping = regexp.MustCompile(`^patternProperty regexes /(.*)/ and /(.*)/ are not disjoint$`)
)

// explanations replace errors of llguidance that speak of its own options and types, by a part of
// each.
var explanations = []struct{ part, text string }{
	{"oneOf constraints are not supported",
		"oneOf can be honoured only if no value fits two of its schemas: use anyOf"},
	{"circular references with sibling keys",
		"a reference to a schema that holds it cannot stand beside other keywords: leave these out"},
	{"min/maxProperties only supported", "minProperties and maxProperties can be honoured only " +
		"if all properties are required: leave them out, or require them"},
	{"without 'referencing' feature", "a reference leads out of the schema: use #/$defs/NAME"},
	{"Unable to determine if regex is empty",
		"a pattern is too much to follow beside its other keywords: simplify it"},
	{"Regex is empty", "no text fits a pattern and the keywords beside it: leave one of them out"},
	{"can't determine if patternProperty regexes",
		"patterns of names are too much to compare: simplify them"},
	{"NoExtensionBias", "a part of it admits no text, so that no answer can go on"},
	{"ParserTooComplex", "it leaves too much open to be followed: simplify it"},
	{"LexerTooComplex", "its patterns are too much to follow: simplify them"},
	{"Failed to generate regex for", "a bound has too many digits, or is too far from 0"},
	{"too many expressions", "its patterns are too much to follow: simplify them"},
	{"fuel exhausted", "its patterns are too much to compare: simplify them"},
	{"symbols.len() <",
		"it makes more than 65,525 symbols, and each property takes at least four"},
	{"number out of range", "a number is too long: leave it out"},
	{"schema too large", "its schema is too large, with what its parts refer to"},
	{"Schema intersection stack level exceeded", "its schemas are too deep, one in another"},
}

// explain returns the error for a message of llguidance, without the grammar that the message
// repeats.
func explain(kind ErrorKind, message string) *GrammarError {
	e := &GrammarError{Kind: kind}
	message = strings.ReplaceAll(message, "<non-verbose/>", "")
	if at := atPlace.FindStringSubmatch(message); at != nil {
		e.At = fmt.Sprintf("line %s, column %s", at[1], at[2])
		e.Rule = ruleOf(message, at[1])
		message = message[len(at[0]):]
	}
	if i := anExcerpt.FindStringIndex(message); i != nil {
		message = message[:i[0]]
	}
	for _, x := range explanations {
		if strings.Contains(message, x.part) {
			e.Message = x.text
			return e
		}
	}
	e.Message = oneLine(message)
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "..."
	}
	return e
}

// oneLine returns the line of a message that tells the fault, in our words.
func oneLine(message string) string {
	message = strings.TrimSpace(message)
	if _, fault, ok := strings.Cut(message, "\nerror: "); ok { // of a regular expression
		message = "regular expression: " + fault
	}
	message, _, _ = strings.Cut(message, "\n")
	if names := overlapping.FindStringSubmatch(message); names != nil {
		return fmt.Sprintf("the patterns of names %s and %s match the same names: let them exclude "+
			"each other", names[1], names[2])
	}
	if rest, ok := strings.CutPrefix(message, "Unsatisfiable schema: "); ok {
		return "no value fits the schema: " + rest
	}
	return message
}

// ruleOf returns the name of the rule in a line of the excerpt, or nothing.
func ruleOf(message, line string) string {
	_, after, ok := strings.Cut(message, " "+line+" | ")
	name, _, found := strings.Cut(after, ":")
	if !ok || !found || strings.ContainsAny(name, " \n\"") {
		return ""
	}
	return name
}
