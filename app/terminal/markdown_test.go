package terminal

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named writes the styles as their names, and other escapes as they are.
var named = strings.NewReplacer("\x1b[0m", "}", "\x1b[1m", "{b ", "\x1b[2m", "{dim ", "\x1b[3m", "{i ", "\x1b[4m",
	"{u ", "\x1b[36m", "{code ")

func TestMarkdownIsShown(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"", ""},
		{"Hello **you** *there*, `a*b`.", "Hello {b you} {i there}, {code a*b}.\n"},
		{"# A *b* c\ntext", "{b A {i b}{b  c}\n\ntext\n"},
		{"- one\n- two\n  1. a\n  2. b\n\n3. c", "• one\n• two\n  1. a\n  2. b\n\n3. c\n"},
		{"- a\n\n  b\n\n- c", "• a\n  \n  b\n\n• c\n"},
		{"```go\nfunc f() {\n\n\treturn\n}\n```\ndone", "{code func f() {\n\n\treturn\n}}\n\ndone\n"},
		{"> a\n> b\n\n---", "{dim │ }a\n{dim │ }b\n\n{dim ────────────────────}\n"},
		{"[a](http://x.example) <http://y.example> ![p](q)", "{u a} (http://x.example) {u http://y.example} {u p} (q)\n"},
		{"a &amp; b \\* 1 < 2 <b>x</b>", "a & b * 1 < 2 <b>x</b>\n"},
		{"| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |\n"},
		{"a line\nand another", "a line\nand another\n"},
		{"~~~\nopen", "{code open}\n"},
		{"<div>\nx\n</div>", "<div>\nx\n</div>\n"},
	} {
		m := newMarkdown(0)
		if got := named.Replace(m.Add(c.source) + m.End()); got != c.want {
			t.Errorf("%q is shown as\n%q, want\n%q", c.source, got, c.want)
		}
	}
}

// Text breaks between words, below marks too, and code stays as it is. Styles take no room.
func TestMarkdownFitsTheTerminal(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"one two three four", "one two\nthree four\n"},
		{"one **two** three four five", "one {b two}\nthree four\nfive\n"},
		{"- one two three\n  - four five six", "• one two\n  three\n  • four\n    five\n    six\n"},
		{"12. one two three", "12. one\n    two\n    three\n"},
		{"> one two three", "{dim │ }one two\n{dim │ }three\n"},
		{"> **one two three** four", "{dim │ }{b one two}\n{dim │ }{b three}\n{dim │ }four\n"},
		{"> # one *two three*", "{dim │ }{b one {i two}\n{dim │ }{b {i three}{b }\n"},
		{"> ```\n> a\n> b\n> ```", "{dim │ }{code a}\n{dim │ }{code b}\n"},
		{"- > **one two three four**", "• {dim │ }{b one}\n  {dim │ }{b two}\n  {dim │ }{b three}\n  {dim │ }{b four}\n"},
		{"- [one two three](u)", "• {u one two}\n  {u three}\n  (u)\n"},
		{"# one two three", "{b one two\nthree}\n"},
		{"```\none two three four\n```", "{code one two three four}\n"},
		{"verylongword and more", "verylongword\nand more\n"},
		{"語語語 語語", "語語語\n語語\n"},
	} {
		m := newMarkdown(10)
		if got := named.Replace(m.Add(c.source) + m.End()); got != c.want {
			t.Errorf("%q is shown as\n%q, want\n%q", c.source, got, c.want)
		}
	}
}

// An answer looks the same however it is cut, and a block comes as soon as the next one begins.
func TestMarkdownComesByBlocks(t *testing.T) {
	const source = "# Title\n\nA *text*\nof two lines.\n\n1. one\n\n   ```\n   code\n\n   more\n   ```\n2. two\n\n```\na\n\nb\n```\nlast\n"
	whole := newMarkdown(0)
	want := whole.Add(source) + whole.End()
	m, got := newMarkdown(0), ""
	var after []string // what was read when a block came
	for i, c := range strings.Split(source, "") {
		if blocks := m.Add(c); blocks != "" {
			got += blocks
			after = append(after, source[strings.LastIndex(source[:i], "\n")+1:i+1])
		}
	}
	got += m.End()
	if got != want {
		t.Errorf("by characters it is\n%q, want\n%q", named.Replace(got), named.Replace(want))
	}
	if strings.Join(after, "") != "A *text*\n1. one\n```\nlast\n" {
		t.Errorf("blocks came after the lines %q", after)
	}
}

// A block that is long or nests deeply is shown as it is, and the blocks around it as Markdown. None takes
// long to read.
func TestOddMarkdownIsShownAsItIs(t *testing.T) {
	for _, odd := range []string{strings.Repeat(">", 3500) + "a", strings.Repeat(">", 1_000_000) + "a", strings.Repeat("- ", 2000) + "a",
		strings.Repeat("1. ", 2000) + "a", strings.Repeat("> - ", 1000) + "a", strings.Repeat("*a_", 20_000), strings.Repeat("_a_b", 50_000),
		strings.Repeat("[", 400_000), strings.Repeat("[a](", 100_000), strings.Repeat("<a ", 100_000), strings.Repeat("a\n", 300_000) + "a",
		strings.Repeat("> ", 101) + "a\n" + strings.Repeat("> ", 101) + "a"} {
		for _, size := range []int{len(odd) + 20, 5000} { // of a part that arrives
			m, got := newMarkdown(80), ""
			for part := range slices.Chunk([]byte("*before*\n\n"+odd+"\n\n*after*"), size) {
				got += m.Add(string(part))
			}
			got += m.End()
			if want := "{i before}\n\n" + odd + "\n\n{i after}\n"; named.Replace(got) != want {
				t.Errorf("%.20s… of %d bytes is shown as %.200q", odd, len(odd), named.Replace(got))
			}
		}
	}
}

// What nests less deeply is Markdown.
func TestNestedMarkdownIsShown(t *testing.T) {
	m := newMarkdown(80)
	if got := named.Replace(m.Add(strings.Repeat("> ", 90)+"*a*") + m.End()); got != strings.Repeat("{dim │ }", 90)+"{i a}\n" {
		t.Errorf("90 quotes are shown as %q", got)
	}
}

// No text of a model writes a sequence that a terminal obeys.
func TestMarkdownHasNoControlCharacters(t *testing.T) {
	const bad = "\x1b]0;gone\a\u009b2J\u202e\x00\r&#27;[2J&#x9b;"
	for _, around := range []string{"%", "# %", "- %", "> %", "*a%*", "`%`", "```%\n%\n```", "    %", "[%](%)", "![%](<%>)",
		"<http://%>", "<b %>", "<div>\n%\n</div>", "<!--\n% -->", "\\%", "1. %\n\n   %", "[a]: %\n\n[a]", "~~~\n%"} {
		m := newMarkdown(0)
		source := strings.ReplaceAll(around, "%", bad)
		got := m.Add(source) + m.End()
		rest := regexp.MustCompile(`\x1b\[(0|1|2|3|4|36)m`).ReplaceAllString(got, "")
		if Text(rest) != rest {
			t.Errorf("%q is shown with control characters: %q", source, got)
		}
	}
}

// A text of several lines keeps what no terminal obeys, even where it is cut inside a character.
func TestTextKeepsSpacesAndJoiners(t *testing.T) {
	const text, want = "a\tb\n1\u00a0000 10\u202f°C 日本\u3000語 \U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e \x1b[2J\r\u009b\u202e\x7f",
		"a\tb\n1\u00a0000 10\u202f°C 日本\u3000語 \U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e �[2J����"
	if got := Text(text); got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	var out strings.Builder
	w := TextWriter(&out)
	for i := range len(text) {
		if n, err := w.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if out.String() != want {
		t.Errorf("byte by byte it is %q, want %q", out.String(), want)
	}
}
