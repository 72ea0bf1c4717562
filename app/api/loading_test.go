package api_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
	"tandem/app/responses"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// A streamRoute is a route that streams answers.
type streamRoute struct {
	path, body string
	silence    string // tells its clients to wait
	more       string // tells them so again; empty for the same
	end        string // ends a stream
}

const (
	sseSilence  = ": keep-alive"
	pingSilence = "event: ping\ndata: {\"type\":\"ping\"}"

	// Ollama's lines have the request's name for the model.
	chatSilence     = `{"model":"tandem:latest","message":{"role":"assistant","content":""},"done":false}`
	generateSilence = `{"model":"tandem","response":"","done":false}`

	createdSilence  = "event: response.created\n\n" + progressSilence
	progressSilence = "event: response.in_progress"

	branchPath = "/app/checkpoints/abc/branch"
)

var errNoRoom = control.Errorf(control.CodeMemory, "There is no room for it.")

func streamRoutes() []streamRoute {
	return []streamRoute{
		{"/v1/chat/completions", roomtest.ChatBody(`"stream":true`), sseSilence, "", "[DONE]"},
		{"/v1/completions", `{"model":"tandem","prompt":"x","stream":true}`, sseSilence, "", "[DONE]"},
		{"/v1/fim/completions", `{"model":"tandem","prompt":"x","suffix":"y","stream":true}`, sseSilence, "", "[DONE]"},
		{"/v1/responses", roomtest.ResponseBody(`"input":"x","stream":true`), createdSilence, progressSilence, "}}"},
		{"/v1/messages", roomtest.MessageBody(`"stream":true`), pingSilence, "", `{"type":"message_stop"}`},
		{"/api/chat", `{"model":"tandem:latest","messages":[{"role":"user","content":"x"}]}`, chatSilence, "", `}`},
		{"/api/generate", `{"model":"tandem","prompt":"x"}`, generateSilence, "", `}`},
		{branchPath, `{"prompt":"x","stream":true}`, sseSilence, "", "[DONE]"},
	}
}

// loading returns a backend whose model takes a while to load, or to fail.
func loading(wait time.Duration, err error) *roomtest.Backend {
	fake := roomtest.Lettered(control.KindAnswer)
	fake.Model.Context = 4096
	fake.OnLoad = func(ctx context.Context) error {
		select {
		case <-time.After(wait):
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fake
}

// at matches the time in an object of Ollama's, and the data of a response that is in progress.
var at = regexp.MustCompile(`"created_at":"[^"]*",|\ndata: {[^\n]*"status":"in_progress"[^\n]*`)

func (r streamRoute) ask(ctx context.Context, fake *roomtest.Backend) *roomtest.Writer {
	w := roomtest.NewWriter()
	serve(fake).ServeHTTP(w,
		roomtest.Request(r.path, r.body).WithContext(ctx))
	for i, e := range w.Events {
		w.Events[i] = at.ReplaceAllString(e, "")
	}
	return w
}

// On each route that streams, a client that waits for a model is told so.
func TestLoadKeepsStreamAlive(t *testing.T) {
	for _, r := range streamRoutes() {
		synctest.Test(t, func(t *testing.T) {
			fake := loading(8*time.Second, nil)
			w := r.ask(t.Context(), fake)
			if len(w.Events) < 3 || !slices.Equal(w.Events[:2],
				[]string{"2s: " + r.silence, "7s: " + cmp.Or(r.more, r.silence)}) ||
				!strings.HasPrefix(w.Events[2], "8s: ") {
				t.Fatalf("%s: %q", r.path, w.Events)
			}
			if last := w.Events[len(w.Events)-1]; w.Status != http.StatusOK ||
				!strings.HasSuffix(last, r.end) {
				t.Errorf("%s: %d, it ends with %s", r.path, w.Status, last)
			}
			if row := fake.LastRun(); row.Error != "" || row.LoadMS != 8000 ||
				row.CompletionTokens == 0 || fake.Held != 0 {
				t.Errorf("%s: %d models held, the history has %+v", r.path, fake.Held, row)
			}
			if all := strings.Join(w.Events, ""); strings.Contains(all, `"queue_ms"`) && !strings.Contains(all, `"load_ms":8000`) {
				t.Errorf("%s: the timings have no time of the load: %s", r.path, all)
			}
		})
	}
}

// Before the client is told to wait, a failure is an answer of its own. After that it ends the
// stream in the form of the route.
func TestLoadFailureEndsStream(t *testing.T) {
	for _, r := range streamRoutes() {
		for _, wait := range []time.Duration{time.Second, 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				fake := loading(wait, errNoRoom)
				w := r.ask(t.Context(), fake)
				told := w.Events[len(w.Events)-1]
				if strings.Count(told, errNoRoom.Message) != 1 || fake.Held != 0 {
					t.Errorf("%s: %d models held, %s", r.path, fake.Held, told)
				}
				if wait < wire.QuietFirst {
					if len(w.Events) != 1 || w.Status != http.StatusInsufficientStorage ||
						w.Headers.Get("X-Should-Retry") != "false" ||
						w.Headers.Get("Content-Type") != "application/json" {
						t.Errorf("%s: %d, headers %v, %q", r.path, w.Status, w.Headers, w.Events)
					}
					return
				}
				if len(w.Events) != 2 {
					t.Fatalf("%s: len(w.Events) = %v, want 2", r.path, len(w.Events))
				}
				if w.Events[0] != "2s: "+r.silence {
					t.Errorf("%s: w.Events[0] = %q, want %q", r.path, w.Events[0], "2s: "+r.silence)
				}
				if w.Status != http.StatusOK {
					t.Errorf("%s: w.Status = %v, want %v", r.path, w.Status, http.StatusOK)
				}
				if !strings.HasPrefix(told, "3s: ") {
					t.Errorf(`%s: told = %q, want it to start with "3s: "`, r.path, told)
				}
				if strings.Contains(told, "[DONE]") {
					t.Errorf(`%s: told = %q, want none of "[DONE]"`, r.path, told)
				}
				if row := fake.LastRun(); row.FinishReason != control.FinishError ||
					row.Model != "acme/coder" ||
					!strings.HasPrefix(row.Error, string(control.CodeMemory)) {
					t.Errorf("%s: the history has %+v", r.path, row)
				}
			})
		}
	}
}

// A failure after a wait for the model is in the form of the route.
func TestLoadFailureHasFormOfRoute(t *testing.T) {
	forms := map[string]string{
		"/v1/chat/completions": `data: {"error":{"message":"There is no room for it.","type":"server_error","param":"model","code":"%s"}}`,
		"/api/chat":            `{"error":"There is no room for it."}`,
		"/api/generate":        `{"error":"There is no room for it."}`,
		"/v1/messages": "event: error\ndata: " +
			`{"type":"error","error":{"type":"api_error","message":"There is no room for it."}}`,
	}
	for _, r := range streamRoutes() {
		want, ok := forms[r.path]
		if !ok && r.path != "/v1/responses" {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := roomtest.NewWriter()
			serve(loading(3*time.Second, errNoRoom)).ServeHTTP(w,
				roomtest.Request(r.path, r.body))
			failed := strings.TrimPrefix(w.Events[len(w.Events)-1], "3s: ")
			if ok {
				if strings.Contains(want, "%s") {
					want = fmt.Sprintf(want, control.CodeMemory)
				}
				if failed != want {
					t.Errorf("%s: %s", r.path, failed)
				}
				return
			}
			// The event has the whole failed response.
			list := roomtest.ReadResponseEvents(t, strings.TrimPrefix(w.Events[0], "2s: ")+"\n\n"+failed)
			if len(list) != 3 || list[0].Type != "response.created" ||
				list[1].Type != "response.in_progress" || list[2].Type != "response.failed" {
				t.Fatalf("%s: %s", r.path, failed)
			}
			first, last := list[0].Response, list[2].Response
			if first.ID != last.ID {
				t.Errorf("%s: first.ID = %v, want %v", r.path, first.ID, last.ID)
			}
			if !strings.HasPrefix(last.ID, responses.ResponsePrefix) {
				t.Errorf("%s: last.ID = %q, want it to start with %q", r.path,
					last.ID, responses.ResponsePrefix)
			}
			if last.Model != control.Alias {
				t.Errorf("%s: last.Model = %v, want %v", r.path, last.Model, control.Alias)
			}
			if last.Status != "failed" {
				t.Errorf(`%s: last.Status = %q, want "failed"`, r.path, last.Status)
			}
			if want := (roomtest.ResponseError{Code: "server_error",
				Message: "There is no room for it."}); *last.Error != want {
				t.Errorf("%s: *last.Error = %v, want %v", r.path,
					*last.Error, want)
			}
		})
	}
}

// If the prompt fails after a load, the failure is in the form of the route. The model is known
// then.
func TestPromptFailureAfterLoadHasFormOfRoute(t *testing.T) {
	for _, r := range streamRoutes() {
		synctest.Test(t, func(t *testing.T) {
			fake := loading(3*time.Second, nil)
			fake.Model.Context = 1
			w := r.ask(t.Context(), fake)
			if last := w.Events[len(w.Events)-1]; len(w.Events) != 2 ||
				!strings.Contains(last, "maximum context length is 1 tokens") &&
					!strings.Contains(last, "> 1 maximum") {
				t.Errorf("%s: %q", r.path, w.Events)
			}
			if row := fake.LastRun(); row.FinishReason != control.FinishError ||
				row.Model != fake.Model.Name || fake.Held != 0 {
				t.Errorf("%s: %d models held, the history has %+v", r.path, fake.Held, row)
			}
		})
	}
}

// TestLoadIsCancelledWhenClientLeaves: the wait for a model ends when its client leaves.
func TestLoadIsCancelledWhenClientLeaves(t *testing.T) {
	for _, r := range streamRoutes() {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*time.Second, cancel)
			fake := loading(time.Minute, nil)
			w := r.ask(ctx, fake)
			if took := time.Since(w.Start); took != 3*time.Second {
				t.Errorf("%s: it was waited for until %v, %q", r.path, took, w.Events)
			}
			if row := fake.LastRun(); fake.Held != 0 || row.FinishReason != control.FinishCancel {
				t.Errorf("%s: %d models held, the history has %+v", r.path, fake.Held, row)
			}
		})
	}
}
