package dialect

import "regexp"

// thoughtField finds where a template reads a member of a message that may be its thought.
var thoughtField = regexp.MustCompile(`[.'"](reasoning_content|reasoning|thinking)\b`)

// Remembered is the name of a message's member by which the template takes the thought of an
// earlier answer: reasoning_content, reasoning or thinking.
func (d *Dialect) Remembered() string { return d.history }

// remembered returns the commonest of the names that a template reads.
func remembered(template string) string {
	found := map[string]bool{}
	for _, m := range thoughtField.FindAllStringSubmatch(template, -1) {
		found[m[1]] = true
	}
	for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
		if found[name] {
			return name
		}
	}
	return "reasoning_content"
}
