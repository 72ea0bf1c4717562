package dialect

import (
	"slices"
	"strings"
	"testing"
)

// TestTagThatComesTwiceChangesNothing: the calls of a family's answer stay what they are where one of its
// tags comes twice.
func TestTagThatComesTwiceChangesNothing(t *testing.T) {
	for _, f := range readFixtures(t) {
		d, o, text := f.dialect(), f.options(), f.sections["text"]
		want := joined(d, o, false, text)
		unknown := func(p Part) bool {
			return p.Kind == Call && !slices.ContainsFunc(offered, func(t Tool) bool { return t.Name == p.Name })
		}
		if slices.ContainsFunc(want, unknown) {
			continue
		}
		for _, mark := range d.Marks() {
			if !strings.HasSuffix(mark, ">") && !strings.HasSuffix(mark, "]") || strings.HasPrefix(mark, "<![") ||
				mark == d.thought.close || strings.HasPrefix(d.thought.open, mark) {
				continue // it is a part of a tag, or of a thought
			}
			for at := 0; ; at++ {
				next := strings.Index(text[at:], mark)
				if next < 0 {
					break
				}
				at += next
				twice := text[:at] + mark + text[at:]
				if got := joined(d, o, false, twice); !slices.Equal(got, want) {
					t.Errorf("%s, %q: %q is\n%s", f.file, mark, twice, show(got))
				}
			}
		}
	}
}
