package dialect

import "regexp"

// thoughtField matches template code that reads the thought of a message.
var thoughtField = regexp.MustCompile(`[.'"](reasoning_content|reasoning|thinking)\b`)

// Remembered returns the name of the message member from which the template reads the thought of an
// earlier answer: reasoning_content, reasoning or thinking.
func (d *Dialect) Remembered() string { return d.thoughtMember }

// findThoughtMember returns the member's name. If the template reads several, the one that is most
// common among templates wins; if it reads none, that is reasoning_content.
func findThoughtMember(template string) string {
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
