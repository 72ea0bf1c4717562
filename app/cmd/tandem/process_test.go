package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// endless writes a model that does not end by itself: its EOS lies beyond its vocabulary.
func endless(t *testing.T) string {
	return tinyModel(t, "endless", map[string]any{"eos_token_id": 1000,
		"max_position_embeddings": 1 << 16})
}

// serve prints its address and a link to the page. The link opens one session. A second serve of
// the same home names the first one and exits with 1.
func TestServePrintsItsAddressAndALink(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	if !regexp.MustCompile(`^http://127\.0\.0\.1:[1-9][0-9]*$`).MatchString(p.url) {
		t.Errorf("line 1 is %q, want the address", p.url)
	}
	if !regexp.MustCompile(`^` + regexp.QuoteMeta(p.url) + `/#[A-Z2-7]{20,}$`).MatchString(p.link) {
		t.Errorf("line 2 is %q, want the address with a code", p.link)
	}
	// The code of the link gives a session once.
	_, code, _ := strings.Cut(p.link, "#")
	for i, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		resp, err := http.Post(p.url+"/app/session", "application/json",
			strings.NewReader(fmt.Sprintf(`{"code":%q}`, code)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("exchange %d of the code: %s, want %d", i+1, resp.Status, want)
		}
	}
	if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home folder: %v, %v, want mode 0700", info.Mode(), err)
	}

	second := launch(t, home, "serve", "--addr", "127.0.0.1:0")
	code2, out := second.exit(t)
	for _, want := range []string{fmt.Sprintf("pid %d ", p.Process.Pid), p.url, home} {
		if !strings.Contains(second.stderr.String(), want) {
			t.Errorf("a second serve does not name %q: %s", want, second.stderr)
		}
	}
	if code2 != 1 || out != "" {
		t.Errorf("a second serve exits with %d and prints %q, want 1 and nothing", code2, out)
	}
	if _, err := control.Ask(t.Context(), client(t, home), control.GetState); err != nil {
		t.Errorf("the state of the first serve: %v", err)
	}
	waitState(t, client(t, home),
		func(s control.State) bool { return s.Phase == control.PhaseReady })
	p.stop(t)
	// Standard error explains the link and names the key that stops and the model that is served.
	// Nothing is in flight, so the stop adds no line.
	want := "Open this link within a minute (it works once; `tandem open` makes another):\n" +
		"Ctrl-C stops.\n" +
		"Serving pocket. In an editor: base URL " + p.url + "/v1, model tandem, any API key.\n"
	if got := p.stderr.String(); got != want {
		t.Errorf("standard error:\n%swant:\n%s", got, want)
	}
}

// serve tells its new address when a setting has moved its port, and opened one that was closed.
func TestServeTellsThatItsPortHasMoved(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	var taken []net.Listener
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		taken = append(taken, l)
	}
	setPort := func(l net.Listener) (port int) {
		port = l.Addr().(*net.TCPAddr).Port
		c.must(t, "settings", "set", fmt.Sprintf("port=%d", port))
		return port
	}
	setPort(taken[0])
	p := launch(t, home, "serve")
	waitState(t, client(t, home), func(s control.State) bool { return s.Phase == control.PhaseReady })
	for _, l := range taken[1:] {
		must(t, l.Close())
		port := setPort(l)
		enginetest.Await(t, "the address", func() bool {
			return strings.Contains(p.stderr.String(), fmt.Sprintf("tandem: the endpoint has moved; its base URL is http://127.0.0.1:%d/v1\n", port))
		})
	}
	c.must(t, "settings", "set", "keep_requests=7d")
	if n := strings.Count(p.stderr.String(), "has moved"); n != 2 {
		t.Errorf("it has moved %d times: %s", n, p.stderr)
	}
	p.stop(t)
}

// If its port is taken, serve serves the control socket and prints no address. Standard error says
// so, and the doctor reports it.
func TestServeWithoutItsPortServesTheSocket(t *testing.T) {
	first := serveProcess(t, newHome(t))
	defer first.stop(t)
	home := newHome(t)
	p := launch(t, home, "serve", "--addr", strings.TrimPrefix(first.url, "http://"))
	c := client(t, home)
	state := waitState(t, c, func(s control.State) bool { return s.Phase == control.PhaseReady })
	if state.Address != "" || !strings.Contains(state.Error, "is taken") {
		t.Errorf("the state is %+v, want no address and the reason", state)
	}
	if code := newConsole(t, home).tandem(t.Context(), "doctor"); code != 1 {
		t.Errorf("the doctor exits with %d, want 1", code)
	}
	p.stop(t)
	if text := p.stderr.String(); !strings.HasPrefix(text, "tandem: running without an endpoint") ||
		strings.Count(text, "\n") != 2 ||
		!strings.Contains(text,
			"is taken by another Tandem; stop it and try again, or use port ") ||
		!strings.Contains(text, "\nCtrl-C stops it") {
		t.Errorf("standard error: %s", text)
	}
}

// waitState asks for the state every 2 ms until ok accepts it, and returns it. A failed call is
// repeated.
func waitState(t *testing.T, c *control.Client, ok func(control.State) bool) (s control.State) {
	t.Helper()
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("the last state is %+v, %v", s, err)
		}
	}()
	enginetest.Await(t, "the state", func() bool {
		s, err = control.Ask(t.Context(), c, control.GetState)
		return err == nil && ok(s)
	})
	return s
}

// generating starts an endless streamed completion. It returns the body after the first token.
func generating(t *testing.T, p *process, model string) io.ReadCloser {
	t.Helper()
	resp, err := http.Post(p.url+"/v1/completions", "application/json",
		strings.NewReader(fmt.Sprintf(`{"model":%q,"prompt":"abc","temperature":0,"ignore_eos":true,"stream":true}`,
			model)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("the completion gets %s: %s", resp.Status, b)
	}
	if _, err := resp.Body.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	return resp.Body
}

// After a kill -9 in the middle of a request the home can be served again, and the history has the
// request.
func TestHomeCanBeServedAfterAKill(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", endless(t))
	generating(t, p, control.Alias)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, _ := p.exit(t); code != -1 {
		t.Errorf("the killed process exits with %d, want -1", code)
	}
	if _, err := os.Stat(control.SocketPath(home)); err != nil {
		t.Fatalf("the killed process left no socket, so the test shows nothing: %v", err)
	}
	again := serveProcess(t, home)
	defer again.stop(t)
	c := client(t, home)
	runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.Runs) != 1 || runs.Runs[0].FinishReason != "interrupted" || runs.Runs[0].EndedAt.IsZero() {
		t.Errorf("the runs are %+v, want one that was interrupted", runs)
	}
	if s, err := control.Ask(t.Context(), c, control.GetState); err != nil || s.Choice != "endless" {
		t.Errorf("the current model is %q, %v, want endless", s.Choice, err)
	}
}

// Ctrl-C ends a generation and keeps its text, in this process and as a client of another.
func TestInterruptedRunKeepsItsText(t *testing.T) {
	home, dir := newHome(t), endless(t)
	interrupt := func(t *testing.T) {
		p := launch(t, home, "run", "--model", dir, "--raw", "--json", "--temperature", "0", "abc")
		if _, err := p.stdout.ReadString('\n'); err != nil {
			t.Fatalf("no first token: %v\n%s", err, p.stderr)
		}
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		code, rest := p.exit(t)
		if code != 130 || p.stderr.String() != "tandem: interrupted\n" {
			t.Errorf("exit %d: %s", code, p.stderr)
		}
		if strings.Contains(rest, "finish_reason") {
			t.Error("the generation ended by itself")
		}
	}
	finished := func(t *testing.T, n int) {
		list := lines[control.Run](t, newConsole(t, home).must(t, "runs", "--json"))
		if len(list) != n || list[0].FinishReason != control.FinishCancel ||
			list[0].CompletionTokens == 0 {
			t.Errorf("the runs are %+v, want %d, the newest cancelled with tokens", list, n)
		}
	}
	t.Run("alone", interrupt)
	finished(t, 1)
	p := serveProcess(t, home)
	defer p.stop(t)
	t.Run("served", interrupt)
	waitState(t, client(t, home), func(s control.State) bool { return len(s.Active) == 0 })
	finished(t, 2)
}

// A command may serve other programs. After Ctrl-C it ends and asks for no second Ctrl-C. The other
// program learns that Tandem is stopping.
func TestInterruptedHostAsksForNoSecondCtrlC(t *testing.T) {
	home, dir := newHome(t), endless(t)
	c := client(t, home)
	begin := func(n int) *process {
		p := launch(t, home, "run", "--model", dir, "--raw", "--json", "--temperature", "0", "abc")
		waitState(t, c, func(s control.State) bool {
			return len(s.Active) == n && s.Active[n-1].CompletionTokens > 0
		})
		return p
	}
	first := begin(1)
	second := begin(2)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		io.Copy(io.Discard, second.stdout)
	}()
	must(t, first.Process.Signal(os.Interrupt))
	if code, _ := first.exit(t); code != 130 || first.stderr.String() != "tandem: interrupted\n" {
		t.Errorf("the first command: exit %d: %s", code, first.stderr)
	}
	<-heard
	if code, _ := second.exit(t); code != 1 ||
		!strings.Contains(second.stderr.String(), "Tandem is stopping") {
		t.Errorf("the second command: exit %d: %s", code, second.stderr)
	}
}

// The first signal lets a request in flight end. The second does not wait for it.
func TestSecondSignalEndsTheDrain(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", endless(t))
	body := generating(t, p, control.Alias)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// The drain has begun once the port is closed.
	enginetest.Await(t, "the port is closed", func() bool {
		resp, err := http.Get(p.url + "/health")
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	if _, err := body.Read(make([]byte, 16)); err != nil {
		t.Errorf("the first signal cut the request in flight: %v", err)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code, _ := p.exit(t); code != -1 ||
		p.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("serve ended with %v, want the signal SIGINT", p.ProcessState)
	}
	if want := "tandem: finishing 1 request, for some seconds at most; press Ctrl-C again to stop at once\n"; !strings.HasSuffix(p.stderr.String(),
		want) {
		t.Errorf("standard error does not end with %q: %s", want, p.stderr)
	}
}

// The drain ends a request that does not end by itself. Its client gets the reason, and the history
// has it too.
func TestDrainEndsEndlessRequests(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", endless(t))
	body := generating(t, p, control.Alias)
	heard := make(chan string)
	go func() {
		b, _ := io.ReadAll(body)
		heard <- string(b)
	}()
	p.stop(t)
	if text := <-heard; !strings.Contains(text, "Tandem is stopping") {
		t.Errorf("the stream ends with %q, want the reason", text[max(0, len(text)-200):])
	}
	list := lines[control.Run](t, newConsole(t, home).must(t, "runs", "--json"))
	if len(list) != 1 {
		t.Fatalf("len(list) = %v, want 1", len(list))
	}
	if list[0].EndedAt.IsZero() {
		t.Error("list[0].EndedAt is zero")
	}
	if list[0].FinishReason != "interrupted" {
		t.Errorf(`list[0].FinishReason = %q, want "interrupted"`, list[0].FinishReason)
	}
	if list[0].Message != "Tandem is stopping." {
		t.Errorf(`list[0].Message = %q, want "Tandem is stopping."`, list[0].Message)
	}
	if list[0].TotalMS == 0 {
		t.Error("list[0].TotalMS is 0")
	}
}

// serve checks the folder of --model before it opens anything.
func TestServeChecksItsModelFirst(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	for model, want := range map[string]string{
		filepath.Join(home, "nowhere"): "there is no such folder",
		"org/unknown":                  "is not installed",
		newHome(t):                     "config.json",
	} {
		if code := c.tandem(t.Context(), "serve", "--addr", "127.0.0.1:0", "--model",
			model); code != 1 || !strings.Contains(c.stderr, want) || c.stdout != "" {
			t.Errorf("--model %s: exit %d, %q %q", model, code, c.stdout, c.stderr)
		}
	}
	for flag, want := range map[string]string{
		"--addr=0.0.0.0:1": "--addr chooses the port on this machine", "--addr=192.168.1.2:8263": "--addr chooses the port on this machine",
		"--addr=x": "write HOST:PORT", "--addr=127.0.0.1": "write HOST:PORT", "--addr=http://127.0.0.1:80": "write HOST:PORT",
		"--addr=localhost:65536": "a number from 0 to 65535", "--addr=[::1]:http": "a number from 0 to 65535", "--addr=": "--addr is empty",
		"--context=5": "at least 256 tokens", "--context=255": "at least 256 tokens", "--context=-1": "at least 256 tokens",
	} {
		if code := c.tandem(t.Context(), "serve", flag); code != 2 || !strings.Contains(c.stderr, want) || c.stdout != "" {
			t.Errorf("%s: exit %d, %q %q, want 2 and %s", flag, code, c.stdout, c.stderr, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := c.tandem(ctx, "models"); code != 130 {
		t.Errorf("with a cancelled context: exit %d, want 130\n%s", code, c.stderr)
	}
}

// serve does not announce a model that fails to load or whose folder is gone. A model that was
// never loaded is not the choice of the next start.
func TestServeDoesNotAnnounceAnUnusableModel(t *testing.T) {
	home, good, bad := newHome(t), tinyModel(t, "good", nil), tinyModel(t, "bad", nil)
	newConsole(t, home).must(t, "models", "add", bad) // it becomes bad later
	must(t, os.WriteFile(filepath.Join(bad, "tokenizer.json"), []byte("{"), 0o600))
	for _, c := range []struct {
		args  []string
		phase control.Phase
		says  string
	}{
		{[]string{"--model", "bad"}, control.PhaseFailed, "tandem: bad cannot be served: "},
		{nil, control.PhaseReady, "Serving pocket."},
		{[]string{"--model", good}, control.PhaseReady, "Serving good."},
		{[]string{"--model", "bad"}, control.PhaseFailed, "tokenizer.json"},
		{nil, control.PhaseReady, "Serving good."},
	} {
		p := serveProcess(t, home, c.args...)
		waitState(t, client(t, home), func(s control.State) bool { return s.Phase == c.phase })
		if c.phase == control.PhaseFailed {
			if status, body := p.post(t, "/v1/completions", "application/json",
				`{"model":"tandem","prompt":"a"}`); status != http.StatusUnprocessableEntity ||
				!strings.Contains(body, "tokenizer.json") {
				t.Errorf("%v: a request gets %d %s, want 422", c.args, status, body)
			}
		}
		p.stop(t)
		text := p.stderr.String()
		if failed := c.phase == control.PhaseFailed; !strings.Contains(text, c.says) ||
			failed == strings.Contains(text, "Serving") ||
			failed != strings.Contains(text, "`tandem use pocket`") {
			t.Errorf("%v: standard error lacks %q or names a wrong model: %s", c.args, c.says, text)
		}
	}
	must(t, os.RemoveAll(good))
	p := serveProcess(t, home)
	waitState(t, client(t, home),
		func(s control.State) bool { return s.Phase == control.PhaseFailed })
	p.stop(t)
	if text := p.stderr.String(); !strings.Contains(text, "is no longer at "+good) ||
		!strings.Contains(text, "`tandem use pocket`") ||
		strings.Contains(text, "Serving") {
		t.Errorf("with the folder gone: standard error %s", text)
	}
}

// Tandem does not change a folder that holds other files.
func TestForeignFolderIsLeftAsItIs(t *testing.T) {
	dir := newHome(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := newConsole(t, dir)
	if code := c.tandem(t.Context(), "models"); code != 1 ||
		!strings.Contains(c.stderr, "holds other files") {
		t.Errorf("exit %d: %s", code, c.stderr)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder has mode %v, %v, want 0755", info.Mode(), err)
	}
}

// The first of two commands that run at once serves the second. It stays until the second has
// ended.
func TestSecondRunIsServedByTheFirst(t *testing.T) {
	home, dir := newHome(t), endless(t)
	c := client(t, home)
	begin := func(n int) (*process, int64) {
		p := launch(t, home, "run", "--model", dir, "--raw", "--json", "--temperature", "0", "abc")
		s := waitState(t, c, func(s control.State) bool {
			return len(s.Active) == n && s.Active[n-1].CompletionTokens > 0
		})
		return p, s.Active[n-1].RunID
	}
	end := func(p *process, id int64) {
		if _, err := control.Call(t.Context(), c, control.CancelRun,
			control.CancelRequest{Run: fmt.Sprint(id)}); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := p.stdout.ReadString('\n')
			if err != nil {
				t.Fatalf("no last line: %v\n%s", err, p.stderr)
			}
			if strings.Contains(line, `"finish_reason":"length"`) {
				return
			}
		}
	}
	first, id1 := begin(1)
	second, id2 := begin(2)
	end(first, id1)
	enginetest.Await(t, "the log tells of other programs", func() bool {
		return strings.Contains(first.stderr.String(), "other programs")
	})
	end(second, id2)
	for _, p := range []*process{second, first} {
		if code, _ := p.exit(t); code != 0 {
			t.Errorf("exit %d: %s", code, p.stderr)
		}
	}
}
