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

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// streamIDs starts a resumable chat of 330 tokens. It returns the first n tokens, or more, and a
// function that closes the connection.
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
		t.Fatalf("the stream ended after %d tokens, want %d: %v", len(ids), n, lines.Err())
	}
	return ids, resp.Body.Close
}

// resume completes a run with `tandem runs resume` and returns all its tokens.
func (c *console) resume(t *testing.T, run int64) (ids []int32) {
	t.Helper()
	for _, l := range lines[struct {
		TokenIDs []int32 `json:"token_ids"`
	}](t, c.must(t, "runs", "resume", "--json", fmt.Sprint(run))) {
		ids = append(ids, l.TokenIDs...)
	}
	return ids
}

// An answer that a kill -9 cuts off is completed from the files on disk. It begins with the tokens
// that the client has. A verification then computes the same tokens.
func TestAnswerIsCompletedAfterAKill(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	before, _ := p.streamIDs(t, 200)
	// A checkpoint ends at the answer's 64th token or later.
	c := client(t, home)
	enginetest.Await(t, "the answer has a checkpoint", func() bool {
		list, err := control.Call(t.Context(), c, control.ListCheckpoints,
			control.CheckpointQuery{Model: "pocket"})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Checkpoints,
			func(x control.Checkpoint) bool { return x.Kind == "answer" })
	})
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exit(t)

	p = serveProcess(t, home)
	defer p.stop(t)
	console := newConsole(t, home)
	runs := lines[control.Run](t, console.must(t, "runs", "--json"))
	if len(runs) != 1 || runs[0].FinishReason != "interrupted" || runs[0].Model != "pocket" {
		t.Fatalf("the history has %+v, want one run of pocket that was interrupted", runs)
	}
	ids := console.resume(t, runs[0].ID)
	if len(ids) != 330 || !slices.Equal(ids[:len(before)], before) {
		t.Errorf("the completed answer has %d tokens, %v, want 330 that begin with %v",
			len(ids), ids, before)
	}
	// The row of the run is completed after the answer.
	waitState(t, client(t, home), func(st control.State) bool { return len(st.Active) == 0 })
	runs = lines[control.Run](t, console.must(t, "runs", "--json"))
	if r := runs[0]; r.Resumes != 1 || r.CompletionTokens != 330 || r.Rounds > 330-64 {
		t.Errorf("the resuming run is %+v, want 330 tokens in %d rounds at most", r, 330-64)
	}
	if text := console.must(t, "runs", "verify", "2"); !strings.Contains(text, "all 330 tokens") {
		t.Errorf("runs verify prints %s, want all 330 tokens", text)
	}
	if code := console.tandem(t.Context(), "runs", "resume", "2"); code != 1 ||
		!strings.Contains(console.stderr, "not cut off") {
		t.Errorf("the resume of a finished run: exit %d, %s", code, console.stderr)
	}
}

// An answer whose client has left goes on from its last token, which no checkpoint has. It begins
// with the tokens that the client has, and a verification computes the same tokens.
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
		t.Fatalf("the newest run is %+v, want it interrupted with %d tokens at least",
			left, len(before))
	}
	ids := console.resume(t, left.ID)
	idle()
	if len(ids) != 330 || !slices.Equal(ids[:len(before)], before) {
		t.Errorf("the completed answer has %d tokens, %v, want 330 that begin with %v",
			len(ids), ids, before)
	}
	if r := lines[control.Run](t, console.must(t, "runs", "--json"))[0]; r.Resumes != left.ID ||
		r.Rounds > 330-left.CompletionTokens {
		t.Errorf("the run that resumes %d tokens is %+v, want %d rounds at most",
			left.CompletionTokens, r, 330-left.CompletionTokens)
	}
	if text := console.must(t, "runs", "verify", "2"); !strings.Contains(text, "all 330 tokens") {
		t.Errorf("runs verify prints %s, want all 330 tokens", text)
	}
}

// Checkpoints are listed, named, pinned, branched, verified and deleted by `tandem checkpoints`.
// `tandem forget` deletes the runs and checkpoints of a model. A failed deletion forgets nothing.
func TestCheckpointsAreListedNamedPinnedAndDeleted(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	p.say(t, map[string]string{"role": "system", "content": strings.Repeat("You write Go. ", 10)},
		map[string]string{"role": "user", "content": "Write Contains."})
	console := newConsole(t, home)
	list := func() []control.Checkpoint {
		return lines[control.Checkpoint](t, console.must(t, "checkpoints", "list", "--json"))
	}
	// They are written after the answer.
	enginetest.Await(t, "three checkpoints are written", func() bool { return len(list()) >= 3 })
	all := list()
	last := slices.MaxFunc(all, func(a, b control.Checkpoint) int { return a.ToToken - b.ToToken })
	if last.Kind != "answer" || last.Run != 1 || last.Model != "pocket" {
		t.Errorf("the last checkpoint is %+v, want the answer of run 1 of pocket", last)
	}
	console.must(t, "checkpoints", "name", last.ID, "contains")
	console.must(t, "checkpoints", "pin", "contains")
	if text := console.must(t, "checkpoints", "show", "contains"); !strings.Contains(text,
		last.ID) || !strings.Contains(text, "Write Contains.") {
		t.Errorf("checkpoints show prints %s, want %s and the text", text, last.ID)
	}
	if text := console.must(t, "checkpoints"); !strings.Contains(text, "contains") ||
		!strings.Contains(text, "pinned") {
		t.Errorf("checkpoints prints %s, want the name and the pin", text)
	}
	newest := list()[0].ID
	if some := lines[control.Checkpoint](t, console.must(t, "checkpoints", "list", "--json",
		"--limit", "2")); len(some) != 2 || some[0].ID != newest && some[0].ID != list()[0].ID {
		t.Errorf("with --limit 2 the list is %+v", some)
	}
	console.must(t, "checkpoints", "branch", "--max-tokens", "5", "--temperature", "0", "contains",
		"Write Index.")
	var r control.Run
	enginetest.Await(t, "the run's row is complete", func() bool { // after the answer
		r = lines[control.Run](t, console.must(t, "runs", "--json"))[0]
		return !r.EndedAt.IsZero()
	})
	if r.Endpoint != "/app/checkpoints/branch" || r.CachedTokens < last.ToToken ||
		r.PromptTokens < last.ToToken+5 {
		t.Errorf("the run of the branch is %+v, the checkpoint has %d tokens", r, last.ToToken)
	}
	if text := console.must(t, "checkpoints", "verify"); !strings.Contains(text, "whole") {
		t.Errorf("checkpoints verify prints %s", text)
	}
	if text := console.must(t, "checkpoints", "verify", "1"); !strings.Contains(text,
		"all 100 tokens") {
		t.Errorf("checkpoints verify 1 prints %s, want all 100 tokens", text)
	}

	if text := console.must(t, "checkpoints", "list", "--model", "tandem"); !strings.Contains(text,
		"contains") {
		t.Errorf("the list of the current model is %s, want contains in it", text)
	}
	if code := console.tandem(t.Context(), "checkpoints", "list", "--model", "nobody"); code != 1 ||
		!strings.Contains(console.stderr, "not installed") {
		t.Errorf("the list of an unknown model: exit %d, %s", code, console.stderr)
	}

	// A deletion of the first checkpoint with --all deletes the others that continue it, from
	// memory too. It is refused while one is pinned, and without --all. The next answer names the
	// reason.
	first := slices.MinFunc(all, func(a, b control.Checkpoint) int { return a.ToToken - b.ToToken })
	for _, refused := range []string{"pinned", "others continue"} {
		args := []string{"checkpoints", "delete", "--yes", first.ID}
		if refused == "pinned" {
			args = append(args, "--all")
		}
		if code := console.tandem(t.Context(), args...); code != 1 ||
			!strings.Contains(console.stderr, refused) {
			t.Errorf("%v: exit %d, %s, want %q", args, code, console.stderr, refused)
		}
		console.must(t, "checkpoints", "unpin", "contains")
	}
	console.must(t, "checkpoints", "delete", "--yes", "--all", first.ID)
	if rest := list(); len(rest) > 0 {
		t.Errorf("the checkpoints %+v are left", rest)
	}
	again := p.say(t, map[string]string{"role": "system",
		"content": strings.Repeat("You write Go. ", 10)},
		map[string]string{"role": "user", "content": "Write Contains."})
	if again.Timings.CacheN != 0 || !strings.Contains(again.Timings.Miss,
		"was deleted, as you asked") {
		t.Errorf("%d tokens of deleted checkpoints are restored, the reason for none is %q",
			again.Timings.CacheN, again.Timings.Miss)
	}
	for _, args := range [][]string{{"show", "contains"}, {"delete", first.ID},
		{"branch", "x", "y"}, {"show", "../models"}, {"pin", ".."}} {
		if code := console.tandem(t.Context(),
			append([]string{"checkpoints"}, args...)...); code != 1 ||
			!strings.Contains(console.stderr, "no checkpoint") {
			t.Errorf("%v: exit %d, %s", args, code, console.stderr)
		}
	}

	// A failed deletion is reported, and the history stays.
	folder := filepath.Join(home, "checkpoints", "00000000stuckkkk.checkpoint")
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code := console.tandem(t.Context(), "forget", "--yes", "--model", "pocket"); code != 1 ||
		!strings.Contains(console.stderr, "folder of checkpoints cannot be used") {
		t.Errorf("forget with a folder that cannot be emptied: exit %d, %s", code, console.stderr)
	}
	if runs := console.must(t, "runs", "--json"); runs == "" {
		t.Error("the failed deletion has forgotten the history")
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}

	console.must(t, "forget", "--yes", "--model", "pocket")
	if runs := console.must(t, "runs", "--json"); runs != "" {
		t.Errorf("the history has %s after forget", runs)
	}
	files, _ := filepath.Glob(filepath.Join(home, "checkpoints", "*"))
	if len(files) != 1 || filepath.Base(files[0]) != "CACHEDIR.TAG" {
		t.Errorf("the folder of checkpoints has %v after forget", files)
	}
	if a := p.say(t, map[string]string{"role": "system",
		"content": strings.Repeat("You write Go. ", 10)},
		map[string]string{"role": "user", "content": "Write Contains."}); a.Timings.CacheN != 0 {
		t.Errorf("%d tokens of a forgotten text are restored", a.Timings.CacheN)
	}
	for _, args := range [][]string{{"forget"}, {"checkpoints", "x"}, {"checkpoints", "name", "x"},
		{"checkpoints", "branch", "x"}, {"runs", "resume", "x"}, {"runs", "verify"}} {
		if code := console.tandem(t.Context(), args...); code != 2 {
			t.Errorf("%v: exit %d, want 2", args, code)
		}
	}
	p.stop(t)
}
