package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// kills is how often the program is killed, at moments spread over a quarter of a second.
const kills = 40

// The program is killed with -9 at random moments of its traffic. It starts again each time. Its
// database passes SQLite's check, and every file that it lists is whole. A restored conversation
// gets the same answer as one that was never kept.
func TestKilledProgramLeavesItsHomeWhole(t *testing.T) {
	t.Parallel() // it waits for processes
	home := newHome(t)
	rng := rand.New(rand.NewPCG(5, 5))
	prompts := make([][]map[string]string, 4)
	for i := range prompts {
		prompts[i] = []map[string]string{
			{"role": "system", "content": strings.Repeat("You write Go and nothing else. ", 12)},
			{"role": "user", "content": fmt.Sprintf("Write a Go function named F%d.", i)},
		}
	}
	fresh := serveProcess(t, newHome(t), "--checkpoints", "off")
	want := make([][]int32, len(prompts))
	for i, p := range prompts {
		want[i] = fresh.say(t, p...).Choices[0].TokenIDs
	}
	fresh.stop(t)

	restored, cut := 0, 0
	for range kills {
		p := serveProcess(t, home)
		i := rng.IntN(len(prompts))
		a := p.say(t, prompts[i]...)
		if !slices.Equal(a.Choices[0].TokenIDs, want[i]) {
			t.Errorf("the answer with %d restored tokens is %v, want %v",
				a.Timings.CacheN, a.Choices[0].TokenIDs, want[i])
		}
		if a.Timings.CacheN > 0 {
			restored++
		}
		done := make(chan bool)
		for range 2 {
			go func(seed uint64) { done <- p.talk(seed) }(rng.Uint64())
		}
		// The process dies at any moment of its work.
		time.Sleep(time.Duration(rng.IntN(250)) * time.Millisecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if !<-done {
				cut++
			}
		}
		p.exit(t)
	}
	t.Logf("%d of %d answers had restored tokens, %d requests were cut off", restored, kills, cut)
	if restored < kills/2 || cut < kills/2 {
		t.Errorf("%d of %d answers had restored tokens and %d requests were cut off, want %d of each",
			restored, kills, cut, kills/2)
	}
	p := serveProcess(t, home)
	if text := newConsole(t, home).must(t, "checkpoints", "verify"); !strings.Contains(text,
		"whole") {
		t.Errorf("the files are not whole: %s", text)
	}
	p.stop(t)
	if parts, _ := filepath.Glob(filepath.Join(home, "checkpoints", "*.part")); len(parts) > 0 {
		t.Errorf("the folder has unfinished files: %v", parts)
	}
	console := newConsole(t, home)
	console.tandem(t.Context(), "doctor")
	if !strings.Contains(console.stdout, "✓  database       whole") {
		t.Errorf("the doctor says %s", console.stdout)
	}
}

// talk asks for a long answer to one of seven prompts and reports whether the whole answer came.
func (p *process) talk(seed uint64) bool {
	body, err := json.Marshal(map[string]any{
		"model": "tandem", "temperature": 0.8, "max_tokens": 400, "ignore_eos": true,
		"stream": true,
		"messages": []map[string]string{
			{"role": "system", "content": strings.Repeat("You write Go and nothing else. ", 12)},
			{"role": "user", "content": fmt.Sprint("Write about ", seed%7)},
		},
	})
	if err != nil {
		panic(err)
	}
	resp, err := http.Post(p.url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && bytes.Contains(text, []byte("[DONE]"))
}
