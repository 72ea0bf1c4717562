package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tandem/app/control"
)

// asleep is longer than every limit of a wait.
const asleep = time.Minute

// A process stops for a minute, as on a machine that sleeps, and goes on where it was:
//
//   - its answer is the same as without the stop;
//   - its download goes on by a range, although the hub closed its connection;
//   - a client that follows the state gets new states;
//   - the minute does not count in the pace that Now shows.
func TestSleepOfAMinuteChangesNothing(t *testing.T) {
	t.Parallel() // it sleeps for most of its time
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil), hold: make(chan struct{})}
	var mu sync.Mutex
	var ranges []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at := r.Header.Get("Range"); at != "" && !asksForHead(r) {
			mu.Lock()
			ranges = append(ranges, at)
			mu.Unlock()
		}
		hub.ServeHTTP(w, r)
	}))
	defer server.Close()
	home := newHome(t)
	env := []string{"HF_ENDPOINT=" + server.URL, "HF_TOKEN=" + hubToken}
	p := serveProcessWith(t, home, env, "--model", endless(t))
	defer p.stop(t)
	c := client(t, home)

	states := make(chan control.State, 1)
	go func() {
		defer close(states)
		for st, err := range c.Watch(t.Context()) {
			if err != nil {
				return
			}
			select {
			case <-states:
			default:
			}
			states <- st // the newest only
		}
	}()
	if _, err := control.Call(t.Context(), c, control.StartDownload,
		control.PullRequest{ID: "lab/tiny"}); err != nil {
		t.Fatal(err)
	}
	waitState(t, c, func(s control.State) bool { return s.Downloads[0].Done > 0 })

	want := answerOf(t, p, func() {})
	got := answerOf(t, p, func() {
		waitState(t, c, func(s control.State) bool {
			return len(s.Active) == 1 && s.Active[0].PerSecond > 0
		})
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // a stopped process tells nothing, and its clock goes on
		server.CloseClientConnections()
		close(hub.hold)
		time.Sleep(asleep)
		select {
		case <-states: // a state from before the stop
		default:
		}
		if err := p.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		checkPace(t, c)
	})
	if got != want {
		t.Errorf("the answer of %d bytes differs from the one of %d bytes without a stop",
			len(got), len(want))
	}
	waitState(t, c, func(s control.State) bool { return len(s.Downloads) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(ranges) != 1 || ranges[0] == "bytes=0-" {
		t.Errorf("the download went on by the ranges %q, want one that begins after 0", ranges)
	}
	for st := range states {
		if len(st.Downloads) == 0 {
			return
		}
	}
	t.Error("the client that follows the state never got the end of the download")
}

// checkPace checks that the run in flight has a pace of 10 tokens a second or more, until it has 9
// more tokens. The model takes a few milliseconds for a token. If the minute counted, the pace
// would be a token in two seconds.
func checkPace(t *testing.T, c *control.Client) {
	t.Helper()
	for first := -1; ; {
		st, err := control.Ask(t.Context(), c, control.GetState)
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Active) != 1 {
			t.Fatalf("%d runs are in flight, want 1", len(st.Active))
		}
		run := st.Active[0]
		if run.PerSecond < 10 {
			t.Errorf("the pace after the stop is %.2f tokens a second, want 10 at least",
				run.PerSecond)
			return
		}
		if first < 0 {
			first = run.CompletionTokens
		} else if run.CompletionTokens > first+8 {
			return
		}
	}
}

// answerOf streams an answer and returns its text. It calls between after the first chunk.
func answerOf(t *testing.T, p *process, between func()) string {
	t.Helper()
	const tokens = 4000
	body := fmt.Sprintf(`{"model":"tandem","prompt":"abc","temperature":0,"ignore_eos":true,"stream":true,"max_tokens":%d,"speculation":{"drafter":"none"},"stream_options":{"include_usage":true}}`,
		tokens)
	resp, err := http.Post(p.url+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	ended := false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			ended = ended || data == "[DONE]"
			continue
		}
		var chunk struct {
			Choices []struct{ Text string }
			Usage   *struct {
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if len(chunk.Choices) > 0 {
			text.WriteString(chunk.Choices[0].Text)
		}
		if chunk.Usage != nil && chunk.Usage.CompletionTokens != tokens {
			t.Errorf("the answer has %d tokens, want %d", chunk.Usage.CompletionTokens, tokens)
		}
		if between != nil {
			between()
			between = nil
		}
	}
	if err := lines.Err(); err != nil || !ended {
		t.Errorf("the stream ended without [DONE]: %v", err)
	}
	return text.String()
}
