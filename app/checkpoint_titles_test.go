package app

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tandem/app/control"
)

func TestTextTitle(t *testing.T) {
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

func TestLastWords(t *testing.T) {
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

// FuzzTextTitle: whatever a text has, its title is one short line.
func FuzzTextTitle(f *testing.F) {
	f.Add("<|im_start|>user\n<tool_response><|im_start|>user\n", "[INST]\n}")
	f.Fuzz(func(t *testing.T, text, ending string) {
		if got := textTitle(text, ending); utf8.RuneCountInString(got) > titleRunes || strings.ContainsAny(got, "\n\r\x00\x1b") {
			t.Errorf("the title of %q is %q", text, got)
		}
	})
}

// TestCheckpointTitles: what is kept goes by what was said, whatever is in memory, and
// by the chat of the window that it answered in.
func TestCheckpointTitles(t *testing.T) {
	dir := writeModel(t, "tiny")
	r := start(t, Options{Model: dir}, "127.0.0.1:0")
	c := r.client(t)
	prompt := strings.Repeat("abc ", 40)
	if status, body := r.complete(t, "tiny", prompt); status != 200 {
		t.Fatal(status, body)
	}
	var kept control.Checkpoint
	for deadline := time.Now().Add(time.Minute); kept.ID == ""; time.Sleep(5 * time.Millisecond) {
		list, err := c.Checkpoints(t.Context(), control.CheckpointQuery{})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("nothing is kept: %v", err)
		}
		for _, x := range list.Checkpoints {
			if x.Run > 0 {
				kept = x
			}
		}
	}
	if kept.Title != "" || kept.Client == "" {
		t.Errorf("at first it is %q, for %q", kept.Title, kept.Client)
	}
	if _, err := c.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	titles, err := c.CheckpointTitles(t.Context(), "nothing", kept.ID)
	if err != nil || len(titles) != 1 || titles[0].ID != kept.ID || !strings.Contains(titles[0].Title, "abc abc") || titles[0].Ends == "" {
		t.Fatalf("titles %+v, %v", titles, err)
	}
	// A list has what was asked for once, and a chat's title before that.
	title := func() string {
		t.Helper()
		list, err := c.Checkpoints(t.Context(), control.CheckpointQuery{Model: "tiny"})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list.Checkpoints {
			if x.ID == kept.ID {
				return x.Title
			}
		}
		t.Fatal("it is gone")
		return ""
	}
	if got := title(); got != titles[0].Title {
		t.Errorf("then it is %q", got)
	}
	chat, err := r.AddChat(t.Context(), control.Chat{Kind: "chat", Title: "Letters"})
	if err == nil {
		_, err = r.AddMessage(t.Context(), control.Message{Chat: chat.ID, Role: "assistant", Content: "abc", Run: kept.Run})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := title(); got != "Letters" {
		t.Errorf("of a chat it is %q", got)
	}
}

// TestMachine: this one says what it is.
func TestMachine(t *testing.T) {
	m, err := start(t, Options{}, "").client(t).Machine(t.Context())
	if err != nil || m.Cores < 1 || m.Memory <= 0 || m.Room <= 0 || m.Room >= m.Memory || m.System == "" || !strings.Contains(m.Kind, "/") || !strings.HasPrefix(m.Engine, "MLX ") {
		t.Errorf("%+v, %v", m, err)
	}
}
