package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A turn has the fields of a chat answer that these tests read.
type turn struct {
	Choices []struct {
		Message  struct{ Content string }
		TokenIDs []int32 `json:"token_ids"`
	}
	Timings struct {
		PromptN int    `json:"prompt_n"`
		CacheN  int    `json:"cache_n"`
		Miss    string `json:"miss_reason"`
	}
}

// say asks for the next turn of a conversation, greedily, with 100 tokens.
func (p *process) say(t *testing.T, messages ...map[string]string) turn {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"model": "tandem", "messages": messages, "temperature": 0, "max_tokens": 100,
		"ignore_eos": true, "return_token_ids": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	status, text := p.post(t, "/v1/chat/completions", "application/json", string(body))
	var a turn
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != 200 {
		t.Fatalf("the chat gets %d %s, %v, want 200", status, text, err)
	}
	return a
}

// After a kill -9 a long conversation goes on where it was, with the same answers as without the
// kill. The same holds if a file is damaged.
func TestConversationGoesOnAfterAKill(t *testing.T) {
	home := newHome(t)
	var long strings.Builder
	for i := range 400 {
		fmt.Fprintf(&long, "func f%d(x int) int { return %d * x }\n", i, i*i%97)
	}
	message := func(role, content string) map[string]string {
		return map[string]string{"role": role, "content": content}
	}
	chat := []map[string]string{message("system", long.String()),
		message("user", "Write a Go function named Contains.")}
	p := serveProcess(t, home)
	first := p.say(t, chat...)
	tokens := first.Timings.PromptN
	if tokens < 4000 {
		t.Errorf("the conversation has %d tokens, want 4000 at least", tokens)
	}
	chat = append(chat, message("assistant", first.Choices[0].Message.Content),
		message("user", "And one named Index."))
	folder := filepath.Join(home, "checkpoints")
	written := func() (files []string) {
		files, err := filepath.Glob(filepath.Join(folder, "*.checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	// The checkpoints are written after the answer, and nothing tells which is the last. The loop
	// ends after one second without a new one.
	for i, quiet, n := 0, 0, 0; i < 3000 && quiet < 100; i, quiet = i+1, quiet+1 {
		time.Sleep(10 * time.Millisecond)
		if now := len(written()); now != n || now == 0 {
			quiet, n = 0, now
		}
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exit(t)
	again := serveProcess(t, home)
	second := again.say(t, chat...)
	// A prompt may be tokenized in another way than the answer, so one token may differ.
	if n := second.Timings.CacheN; n < tokens-1 {
		t.Errorf("%d tokens of a conversation of %d were restored: %s",
			n, tokens, second.Timings.Miss)
	}
	again.stop(t)

	// Each file loses bits.
	for i, path := range written() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Every KiB loses a bit, because a tensor that is not needed is not read.
		for at := 8 + int(binary.LittleEndian.Uint64(data)) + i; at < len(data); at += 1 << 10 {
			data[at] ^= 4
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damaged := serveProcess(t, home)
	third := damaged.say(t, chat...)
	if third.Timings.CacheN > 0 {
		t.Errorf("%d tokens were restored from damaged files", third.Timings.CacheN)
	}
	if !slices.Equal(third.Choices[0].TokenIDs, second.Choices[0].TokenIDs) {
		t.Errorf("the answer without a checkpoint is %v, with a restored one it was %v",
			third.Choices[0].TokenIDs, second.Choices[0].TokenIDs)
	}
	damaged.stop(t)
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v, want mode 0700", folder, info.Mode(), err)
	}
}
