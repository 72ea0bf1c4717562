package app

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/engine/checkpoint"
	"tandem/engine/enginetest"
)

// A request in flight is answered when its client is forgotten or its chat is deleted. Then it
// leaves nothing in the database and in no file. The request of another client leaves what it
// should.
func TestForgottenRequestInFlightIsAnsweredAndLeavesNothing(t *testing.T) {
	code := strings.Repeat("func Contains(list []string, s string) bool {\n", 8)
	for _, c := range []struct {
		name, path, body string
		off              bool // checkpoints are off
		text, checkpoint bool // the request that stays leaves a text, a checkpoint
		response         bool // it leaves a response
		chat             bool // its chat is deleted, instead of its client forgotten
	}{
		{"a completion", "/v1/completions", `"prompt":` + string(quote(code)) + `,"max_tokens":70`, false, true, true, false, false},
		{"an exact completion", "/v1/completions", `"prompt":` + string(quote(code)) + `,"max_tokens":9,"speculation":{"exact":true}`, false, true, false, false, false},
		{"a response", "/v1/responses", `"input":` + string(quote(code)) + `,"max_output_tokens":20`, false, true, true, true, false},
		{"a response, without checkpoints", "/v1/responses", `"input":` + string(quote(code)) + `,"max_output_tokens":20`, true, false, false, true, false},
		{"a completion in a chat", "/v1/completions", `"prompt":` + string(quote(code)) + `,"max_tokens":70`, false, true, true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, Options{NoCheckpoints: c.off}, "127.0.0.1:0")
			state := r.client(t)
			for _, name := range []string{"gone", "here"} {
				answer, run := r.held(t, c.path, name,
					`{"model":"pocket",`+strings.Replace(c.body, "Contains", "Contains_"+name,
						1)+`}`, func() {
						st := await(t, state, func(s control.State) bool { return len(s.Active) == 1 })
						if c.chat {
							if name == "gone" {
								deleteChat(t, state, st.Active[0].RunID)
							}
							return
						}
						got, err := r.history.Forget(t.Context(), control.ForgetRequest{Client: "gone"})
						if err != nil || (got.InFlight == 1) != (name == "gone") {
							t.Errorf("%s: Forget returned %+v, %v", name, got, err)
						}
					})
				await(t, state, func(s control.State) bool { return len(s.Active) == 0 })
				stays := name == "here"
				var reply struct {
					ID    string
					Store bool
				}
				if err := json.Unmarshal(answer, &reply); err != nil ||
					reply.Store != (stays && c.response) {
					t.Errorf("%s: the answer is %s, %v", name, answer, err)
				}
				if _, err := r.db.Runs.Text(t.Context(), run); (err == nil) != (stays && c.text) {
					t.Errorf("%s: the text of the run: %v", name, err)
				}
				if _, err := r.history.Response(t.Context(), "", reply.ID); errors.Is(err,
					control.ErrNoResponse) == (stays && c.response) {
					t.Errorf("%s: the stored response: %v", name, err)
				}
				// Once this run has a checkpoint, the files of earlier runs are written if ever.
				if stays && c.checkpoint {
					enginetest.Await(t, "the run has a checkpoint", func() bool {
						_, err := r.db.Checkpoints.OfRun(t.Context(), run)
						return err == nil
					})
				}
			}
			if !c.checkpoint {
				return
			}
			m, err := r.pool.Acquire(t.Context(), "pocket")
			if err != nil {
				t.Fatal(err)
			}
			defer m.Release()
			// The last checkpoint may not be written yet.
			enginetest.Await(t, "there is a checkpoint of what stays", func() bool {
				here := false
				ids, _, err := checkpoint.List(r.home.Path(pool.CheckpointFolder))
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					text, err := checkpoint.ReadTokens(r.history.CheckpointPath(id))
					said := m.Tokenizer().Decode(text)
					if err != nil || strings.Contains(said, "_gone") {
						t.Errorf("checkpoint %s has the text %q, %v", id, said, err)
					}
					here = here || strings.Contains(said, "_here")
				}
				return here || t.Failed()
			})
		})
	}
}

// quote returns text as a JSON string.
func quote(text string) json.RawMessage {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return b
}

// held posts a body, and sends its last part after meanwhile has returned. It returns the answer
// and the id of its run.
func (r *running) held(t *testing.T, path, client, body string, meanwhile func()) (answer []byte,
	run int64) {
	t.Helper()
	from, to := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+path, from)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Tandem-Client", client)
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if answer, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%d %s, %v", resp.StatusCode, answer, err)
		}
		run = number(t, resp.Header.Get("X-Tandem-Run"))
	}()
	if _, err := io.WriteString(to, body[:1]); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	if _, err := io.WriteString(to, body[1:]); err != nil {
		t.Error(err)
	}
	to.Close()
	<-done
	return answer, run
}

// number parses a decimal id.
func number(t *testing.T, text string) (n int64) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Errorf("%q is not a number", text)
	}
	return n
}

// deleteChat adds a chat with an answer of the run, and deletes the chat.
func deleteChat(t *testing.T, c *control.Client, run int64) {
	t.Helper()
	if _, err := control.Call(t.Context(), c, control.DeleteChat, addChat(t, c, run)); err != nil {
		t.Error(err)
	}
}

// addChat adds a chat with an answer of the run.
func addChat(t *testing.T, c *control.Client, run int64) (id int64) {
	t.Helper()
	chat, err := control.Call(t.Context(), c, control.AddChat, control.ChatRequest{Kind: "chat"})
	if err == nil {
		_, err = control.Call(t.Context(), c, control.AddMessage, control.NewMessage{
			Chat: chat.ID, MessageRequest: control.MessageRequest{Role: "assistant",
				Run: run}})
	}
	if err != nil {
		t.Error(err)
	}
	return chat.ID
}
