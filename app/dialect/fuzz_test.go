package dialect

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pieces are the texts that the fuzz tests put together.
var pieces = []string{
	"<think>", "</think>", "<tool_call>", "</tool_call>", "<function=f>", "<parameter=city>",
	"<parameter=days>", "</parameter>", "</function>",
	`{"name": "now", "arguments": {`, `"a": 1`, `"b": "`, `"`, `, "why": 1`, `, "id": "a"`,
	"print(", "}", "}}", "[", "]", ",", ";", "\n", "  ", "text", "\\", "'", "(", ")", "=",
	"f(a=", "[now(",
	"<|python_tag|>", "<|python_start|>", "<|python_end|>", "```tool_code\n", "```", "[TOOL_CALLS]",
	"[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]", "True", "None", "1.5", "{",
	"<|tool_call>", "call:now{", "a:", `<|"|>`, "<tool_call|>", "<|channel>thought\n", "<channel|>",
	"<start_function_call>", "<escape>", "<end_function_call>",
	"<|start|>assistant", "<|channel|>", "analysis", "commentary to=functions.now ", "final",
	"<|message|>", "<|end|>", "<|call|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "function", "<｜tool▁sep｜>", "```json\n",
	"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", `"name": "x"`, `"parameters": {}`,
	"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "now\">",
	"<|tool_call_start|>", "<|tool_call_end|>",
	"<|tool_call|>", "<|/tool_call|>", "functools[", "<tool_", "</think", "<|", "é", `"city": null`,
	" to=self", " to=user", " to=now", "<|eom|>", "<|eot|>", atemCalls, atemInvoke, atemParameter,
	"city\">", "days\">", atemValueEnd, atemInvokeEnd, atemCallsEnd,
}

// FuzzParser: every text has the same parts however it is split, and every byte is in them.
func FuzzParser(f *testing.F) {
	fixtures := readFixtures(f)
	for i, x := range fixtures {
		f.Add(byte(i), false, []byte(nil), x.sections["text"])
	}
	f.Add(byte(3), true, []byte{2, 9, 10, 13, 3}, "")
	f.Fuzz(func(t *testing.T, which byte, cut bool, picks []byte, text string) {
		var b strings.Builder
		for _, pick := range picks {
			b.WriteString(pieces[int(pick)%len(pieces)])
		}
		rng := rand.New(rand.NewPCG(1, uint64(len(text))))
		checkText(t, fixtures[int(which)%len(fixtures)], cut, b.String()+text, rng)
	})
}

// TestBrokenFixturesReadAlikeHoweverSplit: the same as FuzzParser, for fixtures that have lost
// pieces, repeat pieces, or hold pieces of others.
func TestBrokenFixturesReadAlikeHoweverSplit(t *testing.T) {
	for i, x := range readFixtures(t) {
		rng := rand.New(rand.NewPCG(2, uint64(i)))
		for range 300 {
			text := x.sections["text"]
			for range 1 + rng.IntN(4) {
				from := rng.IntN(len(text) + 1)
				to := min(len(text), from+rng.IntN(12))
				switch rng.IntN(4) {
				case 0:
					text = text[:from] + text[to:]
				case 1:
					text = text[:from] + text[from:to] + text[from:]
				case 2:
					text = text[:from]
				default:
					text = text[:from] + pieces[rng.IntN(len(pieces))] + text[from:]
				}
			}
			checkText(t, x, rng.IntN(2) == 0, strings.ToValidUTF8(text, ""), rng)
		}
	}
}

// checkText checks that a text in the dialect of a fixture keeps the promises of doc.go.
func checkText(t *testing.T, x fixture, cut bool, text string, rng *rand.Rand) {
	t.Helper()
	d, o := x.dialect(), x.options()
	want := joined(d, o, cut, text)
	for n := range 3 { // byte by byte, in small pieces, in larger ones
		var split []string
		for rest := text; rest != ""; {
			size := min(len(rest), 1+rng.IntN(1+n*n*4))
			split, rest = append(split, rest[:size]), rest[size:]
		}
		if got := joined(d, o, cut, split...); !slices.Equal(got, want) {
			t.Fatalf("%s: %q in pieces %q is\n%swhole\n%s",
				d.Name(), text, split, show(got), show(want))
		}
	}
	checkParts(t, d, text, want)
	checkSources(t, x, cut, text)
	for _, part := range joined(d, Options{Prompt: o.Prompt}, cut, text) {
		if part.Kind == Call || part.Kind == Arguments {
			t.Fatalf("%s: %q without tools has %+v", d.Name(), text, part)
		}
	}
	plain := joined(Detect("", special()), o, cut, text)
	if text != "" && !slices.Equal(plain, []Part{{Text: text}}) {
		t.Fatalf("%q in the dialect plain is %+v", text, plain)
	}
}

// checkParts checks that calls count from 0 and that arguments begin a JSON object.
func checkParts(t *testing.T, d *Dialect, text string, parts []Part) {
	t.Helper()
	calls := 0
	var a scanner
	for _, part := range parts {
		switch part.Kind {
		case Call:
			if part.Index != calls || part.Name == "" {
				t.Fatalf("%s: %q has %+v in place %d", d.Name(), text, part, calls)
			}
			calls++
			a = scanner{}
		case Arguments:
			if part.Index != calls-1 || part.Text == "" {
				t.Fatalf("%s: %q has %+v of call %d", d.Name(), text, part, calls-1)
			}
			for i := range len(part.Text) {
				if _, ok := a.read(nil, part.Text[i]); !ok || a.slipped || part.Text[i] < ' ' &&
					a.insideString() {
					t.Fatalf("%s: %q has the arguments %q", d.Name(), text, part.Text)
				}
			}
			if whole := a.state == done; whole != json.Valid([]byte(part.Text)) {
				t.Fatalf("%s: %q has the arguments %q, whole: %t", d.Name(), text, part.Text, whole)
			}
		default:
			if part.Text == "" {
				t.Fatalf("%s: %q has an empty part", d.Name(), text)
			}
		}
	}
}

// bare returns a text without white space and the tags of thoughts.
func bare(d *Dialect, text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	for d.thought.open != "" {
		less := strings.ReplaceAll(strings.ReplaceAll(text, d.thought.open, ""), d.thought.close,
			"")
		if less == text {
			break
		}
		text = less
	}
	return text
}

// TestParserHoldsBackNoMoreThanItsBounds: whatever an answer begins with, the parser holds back no
// more text and thoughts than doc.go says.
func TestParserHoldsBackNoMoreThanItsBounds(t *testing.T) {
	check := func(x fixture, before, filler string) {
		p := x.dialect().Parser(x.options())
		p.Push(before + strings.Repeat(filler, 2*maxHeld/len(filler)))
		held := 0
		for _, part := range p.Cut() {
			if part.Kind != Arguments {
				held += len(part.Text)
			}
		}
		if held > maxHeld+2*maxSpace {
			t.Errorf("%s: after %q the parser held %d bytes of %q", x.file, before, held, filler)
		}
	}
	for _, x := range readFixtures(t) {
		for _, filler := range []string{"a", "[", "\n</parameter>"} {
			check(x, "", filler)
			check(x, x.sections["text"][:len(x.sections["text"])/2], filler)
		}
		for _, before := range map[string][]string{
			"tool_call": {`<tool_call>{"name": "`,
				`<tool_call>{"name": "x", "arguments": {}, "id": "`, "<tool_call>",
				`<tool_call>{"arguments": {"a": "`, `<tool_call>{"id": "`},
			"xml": {"<tool_call><function=", "<tool_call>",
				"<tool_call><function=get_weather><parameter=days>",
				"<tool_call><function=get_weather><parameter=city>a</parameter>"},
			"json":     {`{"name": "`, `{"id": "`, "<|python_tag|>"},
			"pythonic": {"[", "[now(", "[now(a=", "[now(a"},
			"lfm": {lfmCall.open, lfmCall.open + "[", lfmCall.open + "[now(",
				lfmCall.open + "[now(a=", lfmCall.open + `[{"name": "`},
			"mistral": {"[TOOL_CALLS]", "[TOOL_CALLS]a", "[TOOL_CALLS]a[CALL_ID]",
				"[TOOL_CALLS]a[ARGS]"},
			"gemma4": {"<|tool_call>", "<|tool_call>call:a", "<|tool_call>call:a{a:",
				"<|tool_call>call:a{a"},
			"glm": {"<tool_call>", "<tool_call>now", "<tool_call>now\n<arg_key>",
				"<tool_call>now\n<arg_key>a</arg_key>",
				"<tool_call>now\n<arg_key>a</arg_key><arg_value>"},
			"phi": {"<|tool_call|>", "functools[",
				`<|tool_call|>{"name": "now", "arguments": {}, "id": "`},
			"deepseek": {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>",
				"<｜tool▁call▁begin｜>a<｜tool▁sep｜>", "<｜tool▁call▁begin｜>a<｜tool▁sep｜>a\n"},
			"atem": {" to=", " to=now<|message|>", " to=self<|message|>", " to=user<|message|>" + atemCalls,
				" to=now<|message|>" + atemInvoke, " to=now<|message|>" + atemInvoke + "now\">",
				" to=now<|message|>" + atemInvoke + "now\">" + atemParameter,
				" to=now<|message|>" + atemInvoke + "get_weather\">" + atemParameter + "days\">",
				" to=now<|message|>" + atemInvoke + "now\">" + atemInvokeEnd},
			"harmony": {"<|channel|>", "<|channel|>final to=a<|message|>",
				"<|channel|>final<|message|>a<|end|>", "<|channel|>final to=a<|message|>{}"},
		}[x.dialect().Name()] {
			check(x, before, "a")
			check(x, before, " ")
		}
	}
}

// TestDeepNestingIsNoCall: a call whose JSON nests deeper than maxDepth is text, and a schema that
// refers to itself is still read.
func TestDeepNestingIsNoCall(t *testing.T) {
	d := Detect("<tool_call>", special())
	text := `<tool_call>{"name": "x", "arguments": {"a": ` + strings.Repeat("[", 1000)
	parts := joined(d, Options{Tools: offered, Calls: true}, false, text)
	if !slices.Equal(parts, []Part{{Text: text}}) {
		t.Errorf("got\n%s", show(parts))
	}
	circle := []byte(`{"properties": {"a": {"$ref": "#/$defs/a"}},` +
		` "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}}`)
	if k := kindOf(circle, "a"); k != kindText {
		t.Errorf("a schema that refers to itself is of kind %d", k)
	}
}
