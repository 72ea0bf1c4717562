package api

import (
	"fmt"
	"testing"

	"tandem/app/dialect"
	"tandem/app/modeltest"
)

// An answer ends at the same place wherever the borders of its tokens are.
func TestStopEndsAnswerWhereverTokensEnd(t *testing.T) {
	const said = `<tool_call>` + "\n" + `{"name": "go", "arguments": {}}` + "\n" + `</tool_call>`
	d := (&modeltest.Fake{TemplateSource: "<think> </think> <tool_call>"}).Dialect()
	options := dialect.Options{Calls: true, Tools: []dialect.Tool{{Name: "go"}}}
	const thought = "<think>\nEND\n</think>\n\n"
	for _, c := range []struct {
		stop       []string
		says, want string
	}{
		{[]string{"END", "ENDE"}, thought + "So:\n" + said + "\nthe EENDED", "1 END|0 So:|2 go{}|0 \nthe E|"},
		{[]string{"END", "ENDE"}, thought + "So: E\n" + said + "\nthe EN D E", "1 END|0 So: E|2 go{}|0 \nthe EN D E|"},
		{[]string{"</think>", "END"}, thought + "So", "1 END\n|"},
		{[]string{"<tool_call>\n", "END"}, thought + "So: E\n" + said + "\nmore", "1 END|0 So: E\n|"},
		{[]string{"</tool_call>", "END"}, thought + said + "\nmore END", "1 END|2 go{}|"},
		{[]string{"</tool_call>", "END"}, thought + "END" + said, "1 END|"},
	} {
		all := []rune(c.says)
		for n := 1; n <= len(all); n++ {
			parser, s := d.Parser(options), newStopper(c.stop, d)
			var a Answer
			add := func(parts []dialect.Part) {
				for _, p := range parts {
					a.Add(p)
				}
			}
			for i := 0; i < len(all) && s.found() == ""; i += n {
				add(s.push(parser, string(all[i:min(i+n, len(all))])))
			}
			end := parser.Flush
			if s.found() != "" {
				end = parser.Cut
			}
			add(s.end(parser, end))
			got := ""
			for _, b := range a.Blocks {
				got += fmt.Sprintf("%d %s|", b.Kind, b.Name+string(b.Text))
			}
			if got != c.want {
				t.Errorf("%q, %d runes a token: %s, want %s", c.stop, n, got, c.want)
			}
		}
	}
}
