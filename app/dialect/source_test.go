package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// checkSources checks the sources of a text's calls:
//   - Every byte is in the text's parts or in a call's source. Exceptions are white space, the tags
//     of thoughts, and a call that had begun where the text was cut.
//   - After its arguments, a call's source holds only the texts that close it, unless the text was
//     cut there.
//
// A dialect of messages is held to neither, because its headers are in no part and no source.
func checkSources(t *testing.T, x fixture, cut bool, text string) {
	t.Helper()
	d := x.dialect()
	p := d.Parser(x.options())
	var told []int    // by call: the bytes read when the last piece of its arguments came
	var whole []bool  // by call: its arguments are whole
	var args []string // by call: its arguments so far
	said := ""
	take := func(parts []Part, at int) {
		for _, part := range parts {
			switch part.Kind {
			case Call:
				told, whole, args = append(told, at), append(whole, false), append(args, "")
			case Arguments:
				i := part.Index
				args[i] += part.Text
				told[i] = at
				whole[i] = strings.HasSuffix(part.Text, "}") && json.Valid([]byte(args[i]))
			default:
				said += part.Text
			}
		}
	}
	for i := range len(text) {
		take(p.Push(text[i:i+1]), i+1)
	}
	if cut {
		take(p.Cut(), len(text))
	} else {
		take(p.Flush(), len(text))
	}
	if len(p.source.calls) != len(told) {
		t.Fatalf("%s: %q has %d calls, and the sources of %d",
			d.Name(), text, len(told), len(p.source.calls))
	}
	rest, end := "", 0
	for i, at := range p.source.calls {
		from, to := at[0], at[1]
		if to < 0 {
			to = len(text)
		}
		if from < end || to < from || to > len(text) {
			t.Fatalf("%s: %q has call %d at %v after %d", d.Name(), text, i, at, end)
		}
		rest, end = rest+text[end:from], to
		// The call comes with its last byte, or with the one after it.
		tail := text[min(told[i], to):to]
		if d.messages == nil && !(cut && at[1] < 0) && !d.closes(tail, whole[i], cut) &&
			!d.closes(text[min(told[i], to)-1:to], whole[i], cut) {
			t.Fatalf("%s: %q loses %q after call %d with %s", d.Name(), text, tail, i, args[i])
		}
	}
	if d.messages != nil { // headers are in neither the parts nor the sources
		return
	}
	got, want := bare(d, said), bare(d, rest+text[end:])
	if begun, ok := strings.CutPrefix(want, got); ok && cut && d.begins(begun) {
		return
	}
	if got != want {
		t.Fatalf("%s: %q has %q beside its calls, want %q", d.Name(), text, got, want)
	}
}

// begins reports whether a call may begin so. Text has no white space, see bare.
func (d *Dialect) begins(text string) bool {
	text = strings.TrimRight(text, "\ufffd") // half a character
	if t := d.thought.open; t != "" && strings.HasPrefix(t, text) {
		return true
	}
	if d.calls == nil || text == "" {
		return false
	}
	if strings.IndexByte(d.bare+",", text[0]) >= 0 { // a comma precedes a further call
		return true
	}
	return slices.ContainsFunc(d.calls.openers(), func(opener string) bool {
		opener = bare(d, opener)
		return strings.HasPrefix(text, opener) || strings.HasPrefix(opener, text)
	})
}

// closers are the strings that may follow arguments.
var closers = []string{
	"</tool_call>", "</function>", "</parameter>", ")", "]", "}", ";", "```", "<|python_end|>",
	"<tool_call|>", "<end_function_call>", "<|/tool_call|>", "</arg_value>", lfmCall.close,
	deepSeekCallEnd, deepSeekCallsEnd, nemotron.close, aprielCalls.close, miniValueEnd,
}

// closes reports whether text may follow a call's arguments. That is the rest of its JSON, and then
// tags. After arguments that are not whole, separators may come first.
func (d *Dialect) closes(text string, whole, cut bool) bool {
	if !whole {
		text = strings.TrimLeft(text, ",\\ \t\r\n")
	}
	for i := range len(text) {
		if text[i] != '}' {
			continue
		}
		object, ok := new(scanner).readObject(`{"id":0` + text[:i+1])
		var members map[string]json.RawMessage
		if !ok || json.Unmarshal(object, &members) != nil {
			continue
		}
		for key := range members {
			isBare := d.name == "json" || d.name == "pythonic"
			if isBare && !slices.Contains(bareKeys, key) {
				return false
			}
		}
		text = text[i+1:]
		break
	}
next:
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if rest, ok := strings.CutPrefix(text, ","); ok { // before the end of a list
			rest = strings.TrimLeft(rest, " \t\r\n")
			if rest == "" || slices.ContainsFunc(closers, func(c string) bool { return strings.HasPrefix(rest, c) }) {
				text = rest
			}
		}
		for _, closer := range closers {
			if rest, ok := strings.CutPrefix(text, closer); ok {
				text = rest
				continue next
			}
		}
		break
	}
	half := func(closer string) bool { return strings.HasPrefix(closer, text) }
	// The tags of these dialects may be cut within.
	members := slices.Contains([]string{"xml", "glm"}, d.name)
	text = strings.TrimRight(text, " \t\r\n") // an opening tag may be in place of a closing one
	return text == "" || slices.Contains(d.calls.openers(), text) || (cut || members) && slices.ContainsFunc(closers, half)
}

// TestSourceHoldsTheCallWithItsTags: the source of a call holds its tags and the white space that
// goes with it.
func TestSourceHoldsTheCallWithItsTags(t *testing.T) {
	fixtures := map[string]fixture{}
	for _, f := range readFixtures(t) {
		fixtures[strings.TrimSuffix(strings.TrimPrefix(f.file, "testdata/"), ".txt")] = f
	}
	for _, c := range []struct {
		fixture, text string
		want          []string
	}{
		{"qwen2_5", "a\n<tool_call>\n{\"name\": \"now\"}\n</tool_call>\nb", []string{"\n<tool_call>\n{\"name\": \"now\"}\n</tool_call>"}},
		{"qwen2_5", `<tool_call>{"name": "x", "arguments": {"a": oops}}</tool_call>`, nil},
		{"qwen2_5", `<tool_call>{"name": "x", "arguments": {"a": `, []string{`<tool_call>{"name": "x", "arguments": {"a": `}},
		{"llama3_1", `{"name": "now", "parameters": {}}; {"name": "now", "parameters": {}, "why": 1}`, []string{`{"name": "now", "parameters": {}};`, ` {"name": "now", "parameters": {}`}},
		{"llama3_2_pythonic", `[now(), now(a=1), print()]`, []string{`[now()`, `, now(a=1)`}},
		{"mistral_v3", `[TOOL_CALLS] [{"name": "now", "arguments": {}} , {"name": "now"}] x`, []string{`[TOOL_CALLS] [{"name": "now", "arguments": {}} `, `, {"name": "now"}]`}},
		{"qwen3_coder", "<tool_call>\n<function=now>\nhm</function>", nil},
		{"gemma4", `<|tool_call>call:now{a:1<tool_call|>`, []string{`<|tool_call>call:now{a:1<tool_call|>`}},
		{"harmony", "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.now<|message|>{\"a\": x}<|call|>", nil},
		{"harmony", "<|channel|>commentary to=functions.now<|message|>{} <|call|><|start|>assistant", []string{"<|channel|>commentary to=functions.now<|message|>{} <|call|>"}},
	} {
		f, ok := fixtures[c.fixture]
		if !ok {
			t.Fatalf("fixture %s is missing", c.fixture)
		}
		p := f.dialect().Parser(f.options())
		p.Push(c.text)
		var got []string
		for _, at := range p.source.calls {
			to := at[1]
			if to < 0 {
				to = len(c.text)
			}
			got = append(got, c.text[at[0]:to])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
