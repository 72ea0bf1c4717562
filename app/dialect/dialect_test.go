package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// special returns a vocabulary in which all texts are special tokens.
func special(texts ...string) Vocabulary {
	return func(text string) (int32, bool, bool) {
		i := slices.Index(texts, text)
		return int32(i), i >= 0, i >= 0
	}
}

// joined reads a text in the given pieces and joins adjacent parts of a kind.
func joined(d *Dialect, o Options, cut bool, pieces ...string) []Part {
	p := d.Parser(o)
	var all []Part
	add := func(parts []Part) {
		for _, part := range parts {
			last := len(all) - 1
			if last >= 0 && part.Kind != Call && all[last].Kind == part.Kind &&
				all[last].Index == part.Index {
				all[last].Text += part.Text
				continue
			}
			all = append(all, part)
		}
	}
	for _, piece := range pieces {
		add(p.Push(piece))
	}
	if cut {
		add(p.Cut())
	} else {
		add(p.Flush())
	}
	return all
}

// read reads a text whole, by characters, and in two pieces at every place. It fails the test if
// the parts differ, and returns them.
func read(t *testing.T, d *Dialect, o Options, cut bool, text string) []Part {
	t.Helper()
	want := joined(d, o, cut, text)
	if got := joined(d, o, cut, strings.Split(text, "")...); !slices.Equal(got, want) {
		t.Errorf("by characters %q is\n%s\nwhole\n%s", text, show(got), show(want))
	}
	for i := range len(text) {
		if got := joined(d, o, cut, text[:i], text[i:]); !slices.Equal(got, want) {
			t.Fatalf("%q | %q is\n%s\nwhole\n%s", text[:i], text[i:], show(got), show(want))
		}
	}
	return want
}

// show returns the parts, one on each line.
func show(parts []Part) string {
	var b strings.Builder
	for _, part := range parts {
		switch part.Kind {
		case Call:
			b.WriteString("call " + part.Name)
		default:
			quoted, err := json.Marshal(part.Text)
			if err != nil {
				panic(err)
			}
			b.WriteString([]string{"text ", "thought ", "", "arguments "}[part.Kind] +
				string(quoted))
		}
		b.WriteByte('\n')
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(b.String())
}
