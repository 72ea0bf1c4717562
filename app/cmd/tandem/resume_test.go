package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
)

// streamIDs starts a chat that does not end by itself. It returns its first n tokens, and a
// function by which its client leaves.
func (p *process) streamIDs(t *testing.T, n int) (ids []int32, leave func() error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		p.url+"/v1/chat/completions",
		strings.NewReader(`{"model":"tandem","temperature":0.8,"max_tokens":330,
		"ignore_eos":true,"stream":true,"return_token_ids":true,"messages":[{"role":"user","content":"Write a Go function named Contains."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Tandem-Resumable", "true")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for len(ids) < n && lines.Scan() {
		var ch chunk
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok &&
			json.Unmarshal([]byte(data), &ch) == nil {
			for _, c := range ch.Choices {
				ids = append(ids, c.TokenIDs...)
			}
		}
	}
	if len(ids) < n {
		t.Fatalf("%d tokens came: %v", len(ids), lines.Err())
	}
	return ids, resp.Body.Close
}

// resume completes a run by the command line and returns its tokens.
func (c *console) resume(t *testing.T, run int64) (ids []int32) {
	t.Helper()
	for _, l := range lines[struct {
		TokenIDs []int32 `json:"token_ids"`
	}](t, c.must(t, "runs", "resume", "--json", fmt.Sprint(run))) {
		ids = append(ids, l.TokenIDs...)
	}
	return ids
}

// A kill -9 cuts an answer off. From the files on disk it is completed with the tokens that it
// would have had. A verification then computes the same tokens.
func TestAnswerIsCompletedAfterAKill(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	before, _ := p.streamIDs(t, 200)
	// A checkpoint ends at the answer's 64th token or later.
	c := client(t, home)
	for range 1000 {
		list, err := c.Checkpoints(t.Context(), control.CheckpointQuery{Model: "pocket"})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(list.Checkpoints,
			func(x control.Checkpoint) bool { return x.Kind == "answer" }) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exit(t)

	p = serveProcess(t, home)
	defer p.stop(t)
	console := newConsole(t, home)
	runs := lines[control.Run](t, console.must(t, "runs", "--json"))
	if len(runs) != 1 || runs[0].FinishReason != "interrupted" || runs[0].Model != "pocket" {
		t.Fatalf("the history has %+v", runs)
	}
	ids := console.resume(t, runs[0].ID)
	if len(ids) != 330 || !slices.Equal(ids[:len(before)], before) {
		t.Errorf("%d tokens, %v; before the end of the process %v", len(ids), ids, before)
	}
	// its row is completed after the answer
	waitState(t, client(t, home), func(st control.State) bool { return len(st.Active) == 0 })
	runs = lines[control.Run](t, console.must(t, "runs", "--json"))
	if r := runs[0]; r.Resumes != 1 || r.CompletionTokens != 330 || r.Rounds > 330-64 {
		t.Errorf("resumed by %+v", r)
	}
	if text := console.must(t, "runs", "verify", "2"); !strings.Contains(text, "all 330 tokens") {
		t.Errorf("verified: %s", text)
	}
	if code := console.tandem(t.Context(), "runs", "resume", "2"); code != 1 ||
		!strings.Contains(console.stderr, "not cut off") {
		t.Errorf("a run that ended is resumed: %d, %s", code, console.stderr)
	}
}

// If its client leaves, an answer goes on from its very last token, which no checkpoint has. It
// does so twice, and has the tokens that it would have had.
func TestAnswerGoesOnAfterItsClientLeft(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	c, console := client(t, home), newConsole(t, home)
	idle := func() {
		t.Helper()
		waitState(t, c, func(st control.State) bool { return len(st.Active) == 0 })
	}
	before, leave := p.streamIDs(t, 20)
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	idle()
	runs := lines[control.Run](t, console.must(t, "runs", "--json"))
	left := runs[0]
	if left.FinishReason != "interrupted" || left.Error != "" ||
		left.CompletionTokens < len(before) || left.CompletionTokens >= 330 {
		t.Fatalf("the history has %+v", left)
	}
	ids := console.resume(t, left.ID)
	idle()
	if len(ids) != 330 || !slices.Equal(ids[:len(before)], before) {
		t.Errorf("%d tokens, %v; before it was left %v", len(ids), ids, before)
	}
	if r := lines[control.Run](t, console.must(t, "runs", "--json"))[0]; r.Resumes != left.ID ||
		r.Rounds > 330-left.CompletionTokens {
		t.Errorf("%d tokens were there, and it was resumed by %+v", left.CompletionTokens, r)
	}
	if text := console.must(t, "runs", "verify", "2"); !strings.Contains(text, "all 330 tokens") {
		t.Errorf("verified: %s", text)
	}
}

// TestCheckpointsAreListedNamedPinnedAndDeleted: what people do with checkpoints.
func TestCheckpointsAreListedNamedPinnedAndDeleted(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	p.say(t, map[string]string{"role": "system", "content": strings.Repeat("You write Go. ", 10)},
		map[string]string{"role": "user", "content": "Write Contains."})
	console := newConsole(t, home)
	list := func() []control.Checkpoint {
		return lines[control.Checkpoint](t, console.must(t, "checkpoints", "list", "--json"))
	}
	for i := 0; i < 200 && len(list()) < 3; i++ { // they are written after the answer
		time.Sleep(10 * time.Millisecond)
	}
	all := list()
	last := slices.MaxFunc(all, func(a, b control.Checkpoint) int { return a.ToToken - b.ToToken })
	if last.Kind != "answer" || last.Run != 1 || last.Model != "pocket" {
		t.Errorf("the last is %+v", last)
	}
	console.must(t, "checkpoints", "name", last.ID, "contains")
	console.must(t, "checkpoints", "pin", "contains")
	if text := console.must(t, "checkpoints", "show", "contains"); !strings.Contains(text,
		last.ID) || !strings.Contains(text, "Write Contains.") {
		t.Errorf("shown as %s", text)
	}
	if text := console.must(t, "checkpoints"); !strings.Contains(text, "contains") ||
		!strings.Contains(text, "pinned") {
		t.Errorf("listed as %s", text)
	}
	if some := lines[control.Checkpoint](t, console.must(t, "checkpoints", "list", "--json",
		"--limit", "2")); len(some) != 2 || some[0].ID != list()[0].ID {
		t.Errorf("the first two are %+v", some)
	}
	console.must(t, "checkpoints", "branch", "--max-tokens", "5", "--temperature", "0", "contains",
		"Write Index.")
	r := lines[control.Run](t, console.must(t, "runs", "--json"))[0]
	for i := 0; i < 200 && r.EndedAt.IsZero(); i++ { // its row is completed after the answer
		time.Sleep(10 * time.Millisecond)
		r = lines[control.Run](t, console.must(t, "runs", "--json"))[0]
	}
	if r.Endpoint != "/app/checkpoints/branch" || r.CachedTokens < last.ToToken ||
		r.PromptTokens < last.ToToken+5 {
		t.Errorf("the branch is %+v, the checkpoint has %d tokens", r, last.ToToken)
	}
	if text := console.must(t, "checkpoints", "verify"); !strings.Contains(text, "whole") {
		t.Errorf("verified: %s", text)
	}
	if text := console.must(t, "checkpoints", "verify", "1"); !strings.Contains(text,
		"all 100 tokens") {
		t.Errorf("run 1 verified: %s", text)
	}

	if text := console.must(t, "checkpoints", "list", "--model", "tandem"); !strings.Contains(text,
		"contains") {
		t.Errorf("of the chosen model: %s", text)
	}
	if code := console.tandem(t.Context(), "checkpoints", "list", "--model", "nobody"); code != 1 ||
		!strings.Contains(console.stderr, "not registered") {
		t.Errorf("of a model that is not there: %d, %s", code, console.stderr)
	}

	// With the first one all are gone, from memory too. The reason is given.
	first := slices.MinFunc(all, func(a, b control.Checkpoint) int { return a.ToToken - b.ToToken })
	for _, refused := range []string{"pinned", "others continue"} {
		args := []string{"checkpoints", "delete", "--yes", first.ID}
		if refused == "pinned" {
			args = append(args, "--all")
		}
		if code := console.tandem(t.Context(), args...); code != 1 ||
			!strings.Contains(console.stderr, refused) {
			t.Errorf("%v: %d, %s", args, code, console.stderr)
		}
		console.must(t, "checkpoints", "unpin", "contains")
	}
	console.must(t, "checkpoints", "delete", "--yes", "--all", first.ID)
	if rest := list(); len(rest) > 0 {
		t.Errorf("%+v are left", rest)
	}
	again := p.say(t, map[string]string{"role": "system",
		"content": strings.Repeat("You write Go. ", 10)},
		map[string]string{"role": "user", "content": "Write Contains."})
	if again.Timings.CacheN != 0 || !strings.Contains(again.Timings.Miss,
		"was deleted, as you asked") {
		t.Errorf("%d tokens restored, %q", again.Timings.CacheN, again.Timings.Miss)
	}
	for _, args := range [][]string{{"show", "contains"}, {"delete", first.ID},
		{"branch", "x", "y"}, {"show", "../models"}, {"pin", ".."}} {
		if code := console.tandem(t.Context(),
			append([]string{"checkpoints"}, args...)...); code != 1 ||
			!strings.Contains(console.stderr, "no checkpoint") {
			t.Errorf("%v: %d, %s", args, code, console.stderr)
		}
	}

	// A failed deletion is reported, and nothing of it is forgotten.
	folder := filepath.Join(home, "checkpoints", "00000000stuckkkk.checkpoint")
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code := console.tandem(t.Context(), "forget", "--yes", "--model", "pocket"); code != 1 ||
		!strings.Contains(console.stderr, "folder of checkpoints cannot be used") {
		t.Errorf("a folder that cannot be emptied: %d, %s", code, console.stderr)
	}
	if runs := console.must(t, "runs", "--json"); runs == "" {
		t.Error("the history was forgotten, and the checkpoints were not")
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}

	console.must(t, "forget", "--yes", "--model", "pocket")
	if runs := console.must(t, "runs", "--json"); runs != "" {
		t.Errorf("the history has %s", runs)
	}
	if files, _ := filepath.Glob(filepath.Join(home, "checkpoints", "*")); len(files) > 0 {
		t.Errorf("%v are left", files)
	}
	if a := p.say(t, map[string]string{"role": "system",
		"content": strings.Repeat("You write Go. ", 10)},
		map[string]string{"role": "user", "content": "Write Contains."}); a.Timings.CacheN != 0 {
		t.Errorf("%d tokens of a forgotten text are restored", a.Timings.CacheN)
	}
	for _, args := range [][]string{{"forget"}, {"checkpoints", "x"}, {"checkpoints", "name", "x"},
		{"checkpoints", "branch", "x"}, {"runs", "resume", "x"}, {"runs", "verify"}} {
		if code := console.tandem(t.Context(), args...); code != 2 {
			t.Errorf("%v ends with %d", args, code)
		}
	}
	p.stop(t)
}
