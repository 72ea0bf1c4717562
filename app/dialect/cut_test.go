package dialect

import (
	"path/filepath"
	"strings"
	"testing"
)

// textOf joins the text of parts.
func textOf(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Kind == Text {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// TestBegunCallThatIsCutIsNoText: wherever an answer of a family is cut, its text is a beginning of
// the whole answer's text.
func TestBegunCallThatIsCutIsNoText(t *testing.T) {
	for _, f := range readFixtures(t) {
		d, o := f.dialect(), f.options()
		all := f.sections["text"]
		want := textOf(joined(d, o, false, all))
		for _, forced := range []bool{true, false} {
			o.Forced = forced
			for i := range len(all) + 1 {
				got := textOf(joined(d, o, true, all[:i]))
				if !strings.HasPrefix(want, withoutHalf(d, got, forced)) {
					t.Errorf("%s, forced %t: %q has the text %q",
						filepath.Base(f.file), forced, all[:i], got)
				}
			}
		}
	}
}

// withoutHalf returns a text without what may still be no call at its end: white space, a part of a
// mark, or JSON and Python that names no tool yet. The last is a call if the answer must be one.
func withoutHalf(d *Dialect, text string, forced bool) string {
	if at := strings.IndexAny(text, d.bare); at >= 0 && !forced &&
		strings.Count(text[at:], `"`) < 4 && !strings.Contains(text[at:], "(") {
		text = text[:at]
	}
	for _, mark := range d.Marks() {
		for n := len(mark) - 1; n > 0; n-- {
			if rest, ok := strings.CutSuffix(text, mark[:n]); ok {
				text = rest
				break
			}
		}
	}
	return strings.TrimRight(text, "\n ")
}

// TestCutCallOfAToolThatIsParticular: a tool that takes some arguments alone has a call that was cut like any
// other tool. Whole arguments that it does not take make the call text, also where the rest was cut.
func TestCutCallOfAToolThatIsParticular(t *testing.T) {
	tools := []Tool{{Name: "run", Accepts: func(arguments []byte) bool { return string(arguments) == `{"a": 1}` }}}
	for _, c := range []struct{ text, want string }{
		{`<tool_call>{"name": "run", "arguments": {`, "call run\narguments \"{\"\n"},
		{`<tool_call>{"name": "run", "arguments": {"b": [2`, "call run\narguments \"{\\\"b\\\": [2\"\n"},
		{`<tool_call>{"name": "run", "arguments": {"a": 1}`, "call run\narguments \"{\\\"a\\\": 1}\"\n"},
		{`<tool_call>{"name": "run", "arguments": {"a": 2}`, "text \"<tool_call>{\\\"name\\\": \\\"run\\\", \\\"arguments\\\": {\\\"a\\\": 2}\"\n"},
		{`<tool_call>{"name": "run", "arguments": {"a": 2,},`, "text \"<tool_call>{\\\"name\\\": \\\"run\\\", \\\"arguments\\\": {\\\"a\\\": 2,},\"\n"},
	} {
		for _, forced := range []bool{false, true} {
			o := Options{Tools: tools, Calls: true, Forced: forced}
			if got := show(joined(Detect("<tool_call>", special()), o, true, c.text)); got != c.want {
				t.Errorf("%s, forced %t: got\n%swant\n%s", c.text, forced, got, c.want)
			}
		}
	}
}
