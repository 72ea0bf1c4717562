package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tandem/app/control"
)

// behave is the variable of the environment that tells the test's own program its kind of child.
const behave = "TANDEM_TEST_CHILD"

func TestMain(m *testing.M) {
	switch kind, _, _ := strings.Cut(os.Getenv(behave), " "); kind {
	case "":
		os.Exit(m.Run())
	case "serve":
		go answer(os.Getenv("TANDEM_HOME"))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn":
		select {}
	case "crash":
		fmt.Fprintln(os.Stderr, "tandem: the weights are gone")
		os.Exit(3)
	}
}

// answer serves the state on a home's socket, as tandem does.
func answer(home string) {
	l, err := control.Listen(home)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"rev\":1,\"phase\":\"ready\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
}

// A watch collects the statuses of a supervisor.
type watch struct {
	mu   sync.Mutex
	seen []Status
	more chan struct{}
}

func (w *watch) changed(s Status) {
	w.mu.Lock()
	w.seen = append(w.seen, s)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// phases returns the phases so far.
func (w *watch) phases() (list []Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		list = append(list, s.Phase)
	}
	return list
}

// until waits for the nth status of a phase.
func (w *watch) until(t *testing.T, p Phase, n int) Status {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		left := n
		for _, s := range w.seen {
			if s.Phase == p {
				if left--; left == 0 {
					w.mu.Unlock()
					return s
				}
			}
		}
		w.mu.Unlock()
		select {
		case <-w.more:
		case <-limit:
			t.Fatalf("phase %s number %d is not among %v", p, n, w.phases())
		}
	}
}

// start supervises a child of a kind in the background. stop ends the supervisor and waits.
func start(t *testing.T, home, kind string) (s *Supervisor, w *watch, stop func()) {
	t.Helper()
	w = &watch{more: make(chan struct{}, 1)}
	s = New(Options{Home: home, Program: os.Args[0], Env: []string{behave + "=" + kind},
		Changed: w.changed})
	s.pause = func(context.Context, int) {}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return s, w, stop
}

// answers reports whether a process serves a home.
func answers(t *testing.T, home string) bool {
	c := control.Dial(home)
	defer c.Close()
	for _, err := range c.Watch(t.Context()) {
		return err == nil
	}
	return false
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// A killed child is started again. The last child ends with its supervisor.
func TestKilledChildIsRestarted(t *testing.T) {
	_, w, stop := start(t, t.TempDir(), "serve")
	first := w.until(t, Running, 1)
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := w.until(t, Running, 2)
	if r := w.until(t, Waiting, 1).Reason; !strings.Contains(r, "killed") {
		t.Errorf("the reason is %q", r)
	}
	stop()
	if alive(second.PID) {
		t.Error("the child is still alive")
	}
}

// The third crash ends the restarts, and the status has the child's last line. A person can start
// the child again.
func TestThirdCrashEndsRestarts(t *testing.T) {
	s, w, stop := start(t, t.TempDir(), "crash")
	if st := w.until(t, Crashed, 1); st.Reason != "tandem: the weights are gone" {
		t.Errorf("the reason is %q", st.Reason)
	}
	if n := len(w.phases()); n != 6 {
		t.Errorf("%v", w.phases())
	}
	s.Again()
	w.until(t, Crashed, 2)
	if n := len(w.phases()); n != 12 {
		t.Errorf("%v", w.phases())
	}
	stop()
}

// A process that already serves continues, also after the supervisor has ended. When it leaves, a
// child takes its place.
func TestRunningProcessIsAdopted(t *testing.T) {
	home := t.TempDir()
	_, w, stop := start(t, home, "serve")
	child := w.until(t, Running, 1)
	for !answers(t, home) { // another process
		time.Sleep(time.Millisecond)
	}
	_, w2, stop2 := start(t, home, "serve")
	w2.until(t, Adopted, 1)
	stop2()
	if !alive(child.PID) {
		t.Error("an adopted process was ended")
	}
	_, w3, stop3 := start(t, home, "serve")
	w3.until(t, Adopted, 1)
	stop()
	w3.until(t, Running, 1)
	stop3()
}

// A child that does not end is killed.
func TestChildThatDoesNotEndIsKilled(t *testing.T) {
	_, w, stop := start(t, t.TempDir(), "stubborn")
	child := w.until(t, Running, 1)
	began := time.Now()
	stop()
	if alive(child.PID) || time.Since(began) < endPatience {
		t.Errorf("after %v the child is alive: %t", time.Since(began), alive(child.PID))
	}
}

// A program that cannot be started is an error, not a crash.
func TestMissingProgramIsAnError(t *testing.T) {
	s := New(Options{Home: t.TempDir(), Program: filepath.Join(t.TempDir(), "none")})
	if err := s.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Each wait after a crash is longer, up to a limit.
func TestDelaysGrowToALimit(t *testing.T) {
	for crashes, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second,
		3: 4 * time.Second, 9: 4 * time.Second} {
		if got := delay(crashes); got != want {
			t.Errorf("after %d crashes %v, want %v", crashes, got, want)
		}
	}
}

// The last line with text is kept, however the text was cut into pieces.
func TestLastLineWithTextIsKept(t *testing.T) {
	text := "one\ntwo\n\n  \n"
	for i := range len(text) + 1 {
		var out strings.Builder
		l := &lastLine{w: &out}
		for _, part := range []string{text[:i], text[i:]} {
			if _, err := io.WriteString(l, part); err != nil {
				t.Fatal(err)
			}
		}
		if l.line() != "two" || out.String() != text {
			t.Errorf("cut at %d: the line is %q, the output %q", i, l.line(), out.String())
		}
	}
	l := &lastLine{w: io.Discard}
	fmt.Fprintf(l, "%s\nend", strings.Repeat("x", 3*maxLine))
	if l.line() != "end" || len(l.last) > maxLine {
		t.Errorf("%q, %d bytes", l.line(), len(l.last))
	}
}
