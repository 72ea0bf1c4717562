package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// longName is longer than any text of an answer that is an error.
var longName = strings.Repeat("n", 4<<20)

// shortAnswer checks that neither the answer nor the history nor the log repeats a long name.
func shortAnswer(t *testing.T, what string, fake *roomtest.Backend, log *strings.Builder,
	w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Body.Len() > 3*wire.MaxErrorText {
		t.Errorf("%s: %d with %d bytes: %.100s", what, w.Code, w.Body.Len(), w.Body)
	}
	for name, values := range w.Header() {
		if n := len(strings.Join(values, "")); n > wire.MaxErrorText {
			t.Errorf("%s: the header %s has %d bytes", what, name, n)
		}
	}
	if n := log.Len(); n > 10*wire.MaxErrorText {
		t.Errorf("%s: %d bytes are logged", what, n)
	}
	for _, r := range fake.Rows {
		if b := wire.MustJSON(r); len(b) > 3*wire.MaxErrorText {
			t.Errorf("%s: the history has %d bytes", what, len(b))
		}
	}
}

func loggedServer(fake *roomtest.Backend) (*Server, *strings.Builder) {
	log := new(strings.Builder)
	return New(services(fake), Options{Logger: slog.New(wire.ClipLog(slog.NewTextHandler(log,
		&slog.HandlerOptions{Level: slog.LevelDebug})))}), log
}

func TestLongNamesInBodiesAreNotRepeated(t *testing.T) {
	whole, longName := longName, longName[:32<<10]
	for path, rest := range roomtest.ModelBodies {
		fields := []string{`"model":"` + whole + `",` + rest}
		for _, name := range []string{"response_format", "tool_choice", "speculation", "metadata",
			"stop", "tools", "reasoning_effort", "think", "format", "keep_alive", "encoding_format",
			"previous_response_id", "thinking", "modalities", "logit_bias", "truncation",
			"output_config", "text", "stream", "n", "messages", "input", "prompt"} {
			for _, value := range []string{`"` + longName + `"`, `{"type":"` + longName + `"}`,
				`{"` + longName + `":1}`, `["` + longName + `"]`, `[{"type":"` + longName + `","role":"` +
					longName + `"}]`, strings.Repeat("9", 32<<10)} {
				if !strings.Contains(rest, `"`+name+`":`) {
					fields = append(fields, `"model":"tandem",`+rest+`,"`+name+`":`+value)
				} else {
					fields = append(fields, `"model":"tandem","max_tokens":4,"`+name+`":`+value)
				}
			}
		}
		fields = append(fields, `"model":"tandem","`+longName+`":1,"`+longName+`":2,`+rest)
		for _, f := range fields {
			fake := roomtest.NewBackend()
			s, log := loggedServer(fake)
			w := roomtest.Post(s.Endpoint(), path, "{"+f+"}")
			shortAnswer(t, path+" "+f[:min(len(f), 20)]+"..."+f[len(f)-10:], fake, log, w)
		}
	}
}

// The same holds for routes of the socket, and for what stands outside bodies.
func TestLongNamesElsewhereAreNotRepeated(t *testing.T) {
	everywhere(t, Rules{AllowedOrigins: []string{"app://x"}}, func(t *testing.T, g guarded,
		e everyRoute) {
		long := longName[:30<<10]
		for name, set := range map[string]func(r *http.Request){
			"path":       func(r *http.Request) { r.URL.Path += "/" + long },
			"query":      func(r *http.Request) { r.URL.RawQuery = "model=" + long + "&limit=" + long },
			"host":       func(r *http.Request) { r.Host = long },
			"origin":     func(r *http.Request) { r.Header.Set("Origin", long) },
			"method":     func(r *http.Request) { r.Method = long },
			"type":       func(r *http.Request) { r.Header.Set("Content-Type", "text/"+long) },
			"encoding":   func(r *http.Request) { r.Header.Set("Content-Encoding", long) },
			"key":        func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+long) },
			"request id": func(r *http.Request) { r.Header.Set("X-Tandem-Request", long) },
			"client":     func(r *http.Request) { r.Header.Set("X-Tandem-Client", long) },
			"preflight": func(r *http.Request) {
				r.Method = http.MethodOptions
				r.Header.Set("Origin", "app://x")
				r.Header.Set("Access-Control-Request-Headers", long)
			},
		} {
			r := g.Request(e)
			if !e.reads() && e.path != "/" || e.path == "/app/state" || e.path == "/app/log" {
				r = g.Request(everyRoute{http.MethodDelete, e.path}) // no answer of its own
			}
			set(r)
			w := g.ask(t, r)
			if w.Code == http.StatusOK {
				continue
			}
			shortAnswer(t, name+" of "+e.method+" "+e.path, g.fake, new(strings.Builder), w)
		}
		if !e.reads() {
			return
		}
		for _, name := range []string{"model", "id", "name", "key", "code", "kind", "title", "drafter",
			"folder", "path", "port"} {
			r := roomtest.Request(e.path, `{"`+name+`":"`+longName[:32<<10]+`"}`)
			r.Method, r.Header["Authorization"] = e.method, g.Request(e).Header["Authorization"]
			if w := g.ask(t, r); w.Code != http.StatusOK {
				shortAnswer(t, name+" in "+e.path, g.fake, new(strings.Builder), w)
			}
		}
	})
}

// A template may raise an error of any length.
func TestLongErrorOfATemplateIsClipped(t *testing.T) {
	for path, rest := range roomtest.ModelBodies {
		if !strings.Contains(rest, "messages") && path != "/v1/responses" && path != "/api/generate" {
			continue
		}
		for _, more := range []string{"", `,"stream":true`} {
			fake := roomtest.NewBackend()
			fake.Model.Template = func([]byte) (string, error) {
				return "", control.Errorf(control.CodeInvalid, "The template says: %s", longName)
			}
			s, log := loggedServer(fake)
			if strings.Contains(rest, "stream") {
				more = ""
			}
			w := roomtest.Post(s.Endpoint(), path, `{"model":"tandem",`+rest+more+`}`)
			if shortAnswer(t, path, fake, log, w); w.Code == 200 {
				t.Errorf("%s: %s", path, w.Body)
			}
		}
	}
}

func TestLongErrorInTheStateIsClipped(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.OnState = func(s *control.State) { s.Error = longName }
	for _, accept := range []string{"", "text/event-stream"} {
		r := roomtest.LocalRequest(http.MethodGet, "/app/state", nil)
		r.Header.Set("Accept", accept)
		s := New(services(fake), Options{})
		s.Drain() // ends the stream after the first event
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, r)
		text := strings.TrimPrefix(w.Body.String(), "data: ")
		var st control.State
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&st); err != nil ||
			len(st.Error) > wire.MaxErrorText+10 || len(st.Error) < 10 {
			t.Errorf("%q: %v, %d bytes", accept, err, len(st.Error))
		}
	}
}
