package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/drafters"
)

// rememberedPrompt is a prompt as it stands in JSON.
const rememberedPrompt = `func sumOfSquares(list []int) int {\n`

// drafted asks for an answer as a client with a key, or with none. Only the memory of texts and the
// request's own text draft it. It returns how many drafts stood, the answer's text and its run.
func (r *running) drafted(t *testing.T, key string) (accepted int, text string, run int64) {
	t.Helper()
	// A memory is read beside its client's request. A short one is asked first, and the list waits.
	r.askMemory(t, key, "x", 2)
	r.remembered(t)
	return r.askMemory(t, key, rememberedPrompt, 80)
}

// askMemory completes a prompt, which stands in JSON.
func (r *running) askMemory(t *testing.T, key, prompt string, n int) (accepted int, text string, run int64) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"tandem","prompt":"%s","max_tokens":%d,"temperature":0,"ignore_eos":true,"speculation":{"drafter":"memory","depth":7}}`,
		prompt, n)
	answer := r.askAs(t, key, "/v1/completions", body)
	var reply struct {
		Choices []struct{ Text string }
		Timings struct {
			Accepted int   `json:"draft_n_accepted"`
			RunID    int64 `json:"run_id"`
		}
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		t.Fatal(err)
	}
	return reply.Timings.Accepted, reply.Choices[0].Text, reply.Timings.RunID
}

// remembered returns the tokens that are remembered of each client.
func (r *running) remembered(t *testing.T) map[string]int {
	t.Helper()
	s, err := r.library.Storage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, x := range s.Texts {
		if x.Texts == 0 || x.Bytes == 0 || time.Since(x.UsedAt).Abs() > time.Hour {
			t.Errorf("%+v", x)
		}
		of[x.Key] = x.Tokens
	}
	return of
}

// A client's second request is drafted from what its first one said, after a restart too. No other
// client's is. Forgetting, a deleted chat and a deleted key remove what was remembered.
func TestClientsAreDraftedFromTheirOwnTexts(t *testing.T) {
	dir := t.TempDir()
	var ada, bob, text string // keys, and the answer
	first := 0                // drafts that stood in the first answer
	check := func(t *testing.T, what string, r *running, key string, known bool) int64 {
		t.Helper()
		accepted, said, run := r.drafted(t, key)
		if known && accepted < max(first+10, 60) || !known && accepted != first {
			t.Errorf("%s: %d drafts stand, %d of the first request", what, accepted, first)
		}
		if said != text {
			t.Errorf("%s: another answer: %q, want %q", what, said, text)
		}
		return run
	}
	t.Run("at first", func(t *testing.T) {
		r := start(t, Options{Home: dir}, "127.0.0.1:0")
		for name, secret := range map[string]*string{"Ada": &ada, "Bob": &bob} {
			k, err := control.Call(t.Context(), r.client(t), control.AddKey,
				control.KeyRequest{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			*secret = k.Secret
		}
		first, text, _ = r.drafted(t, ada)
		check(t, "the second request", r, ada, true)
		check(t, "another key", r, bob, false)
		check(t, "no key", r, "", false)
		check(t, "no key, the second request", r, "", true)
		for _, name := range []string{"Ada", "Bob", ""} {
			if n := r.remembered(t)[name]; n < 80 || n > 120 {
				t.Errorf("of %q %d tokens are remembered", name, n)
			}
		}
	})

	r := start(t, Options{Home: dir}, "127.0.0.1:0")
	check(t, "after a restart", r, ada, true)
	if _, err := control.Call(t.Context(), r.client(t), control.WouldForget,
		control.ForgetRequest{Client: "Ada"}); err != nil {
		t.Fatal(err)
	}
	gone, err := control.Call(t.Context(), r.client(t), control.Forget,
		control.ForgetRequest{Client: "Ada"})
	if err != nil || gone.Tokens < 80 || r.remembered(t)["Ada"] > 0 {
		t.Errorf("forgotten are %+v, %v; left are %v", gone, err, r.remembered(t))
	}
	check(t, "after it was forgotten", r, ada, false)
	check(t, "another that was not", r, bob, true)

	run := check(t, "in a chat", r, ada, true)
	deleteChat(t, r.client(t), run)
	check(t, "after another chat was deleted", r, bob, true)

	keys, err := control.Ask(t.Context(), r.client(t), control.ListKeys)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys.Keys {
		if k.Name == "Bob" {
			if _, err := control.Call(t.Context(), r.client(t), control.DeleteKey, k.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left := r.remembered(t); left["Bob"] > 0 || left["Ada"] == 0 || left[""] == 0 {
		t.Errorf("after Bob's key was deleted %v are left", left)
	}
	list, err := r.library.Storage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list.Texts {
		if x.Key == "" {
			readAnswer(t)(r.client(t).Do(t.Context(), http.MethodDelete,
				"/app/texts/none", nil))
		}
	}
	if left := r.remembered(t); left["Ada"] == 0 || len(left) != 1 {
		t.Errorf("after those of programs without a key were forgotten %v are left", left)
	}
	if _, err := control.Call(t.Context(), r.client(t), control.Forget,
		control.ForgetRequest{Model: "pocket"}); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(filepath.Join(dir, drafters.TextFolder)); err != nil ||
		len(files) != 1 || files[0].Name() != "CACHEDIR.TAG" {
		t.Errorf("after all was forgotten there are %v, %v", files, err)
	}
}

// The texts of a chat that is deleted are not remembered. While they cannot be removed, the chat
// stays, so that it can be deleted again.
func TestDeletedChatIsNotRemembered(t *testing.T) {
	dir := t.TempDir()
	r := start(t, Options{Home: dir}, "127.0.0.1:0")
	_, _, run := r.askMemory(t, "", rememberedPrompt, 80)
	if r.remembered(t)[""] == 0 {
		t.Fatal("nothing is remembered")
	}
	c := r.client(t)
	chat := addChat(t, c, run)
	folder, away := filepath.Join(dir, drafters.TextFolder), filepath.Join(dir, "away")
	if err := errors.Join(os.Rename(folder, away), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call(t.Context(), c, control.DeleteChat,
		chat); codeOf(err) != control.CodeFolder {
		t.Errorf("deleting the chat gives %v, want %s", err, control.CodeFolder)
	}
	if err := errors.Join(os.Remove(folder), os.Rename(away, folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call(t.Context(), c, control.DeleteChat, chat); err != nil {
		t.Error(err)
	}
	if left := r.remembered(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestWithoutCheckpointsNothingIsRemembered(t *testing.T) {
	dir := t.TempDir()
	r := start(t, Options{Home: dir, NoCheckpoints: true}, "127.0.0.1:0")
	for range 2 {
		if code, text := r.complete(t, "tandem", repeats); code != http.StatusOK {
			t.Fatal(text)
		}
	}
	a := r.Send("/v1/completions", `{"model":"tandem","prompt":"x","speculation":{"drafter":"memory"}}`)
	if a.status != http.StatusBadRequest || !bytes.Contains([]byte(a.body), []byte("memory")) {
		t.Errorf("the drafter is not refused: %+v", a)
	}
	if _, err := os.Stat(filepath.Join(dir, drafters.TextFolder)); !os.IsNotExist(err) {
		t.Errorf("there is a folder of texts: %v", err)
	}
}
