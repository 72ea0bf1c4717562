package history

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTitleIsAPersonsLastMessageOrTheLastDeclaration(t *testing.T) {
	long := strings.Repeat("wörd ", 40)
	for _, c := range []struct{ name, text, ending, want string }{
		{"what was said last", "<|im_start|>user\nWrite Contains.<|im_end|>\n<|im_start|>assistant\nHere.<|im_end|>\n<|im_start|>user\n\n  Now   Index.\nPlease.<|im_end|>\n<|im_start|>assistant\nfunc", "", "Now Index."},
		{"cut in its midst", "<|im_start|>user\nWrite Cont", "", "Write Cont"},
		{"Gemma", "<bos><start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n", "", "Why?"},
		{"Llama 3", "<|start_header_id|>user<|end_header_id|>\n\n2 + 2?<|eot_id|>", "", "2 + 2?"},
		{"Mistral", "<s>[INST] First[/INST] one</s>[INST] Second[/INST] two", "", "Second"},
		{"what an editor puts around it", "<|im_start|>user\n<task>\nMend the test.\n</task><|im_end|>", "", "Mend the test."},
		{"not what a tool said", "<|im_start|>user\nList it.<|im_end|>\n<|im_start|>user\n<tool_response>\nfiles\n</tool_response><|im_end|>", "", "List it."},
		{"a system's message alone", "<|im_start|>system\nYou write Go.<|im_end|>\n", "system\nYou write Go.\n", "You write Go."},
		{"code", "package a\n\nfunc f() int {\n", "package a\n\nfunc f() int {\n\t}\n}\n", "func f() int {"},
		{"within code", "", "func f() int {\n\tif x {\n\t\treturn x\n\t}\n", "func f() int {"},
		{"all of it indented", "", "\tif x {\n\t\treturn x\n\t}\n", "return x"},
		{"nothing", "\n}\n", "\n}\n", ""},
		{"too long", "<|im_start|>user\n" + long, "", string([]rune(long)[:titleRunes-1]) + "…"},
		{"control characters", "<|im_start|>user\na\x1b[31mb\x00c", "", "a [31mb c"},
	} {
		got := textTitle(c.text, c.ending)
		if got != c.want || utf8.RuneCountInString(got) > titleRunes {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLastWordsAreOneLineWithoutMarks(t *testing.T) {
	long := strings.Repeat("wörd ", 40)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"func f() int {\n\treturn 1\n}\n", "func f() int { return 1 }"},
		{"<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n", "Why?"},
		{"<start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\nSo.", "Why? So."},
		{"[INST] Why? [/INST] So.</s>", "Why? So."},
		{"<|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|>", "Why?"},
		{long, "…" + strings.TrimSpace(strings.Repeat("wörd ", 11))},
		{strings.Repeat("x", 100), "…" + strings.Repeat("x", endRunes-1)},
	} {
		if got := lastWords(c.text); got != c.want {
			t.Errorf("%q ends with %q, want %q", c.text, got, c.want)
		}
	}
}

// The title of any text is one short line.
func FuzzTextTitle(f *testing.F) {
	f.Add("<|im_start|>user\n<tool_response><|im_start|>user\n", "[INST]\n}")
	f.Fuzz(func(t *testing.T, text, ending string) {
		if got := textTitle(text, ending); utf8.RuneCountInString(got) > titleRunes ||
			strings.ContainsAny(got, "\n\r\x00\x1b") {
			t.Errorf("the title of %q is %q", text, got)
		}
	})
}
