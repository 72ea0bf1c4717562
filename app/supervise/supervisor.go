package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"tandem/app/control"
)

// How many crashes within what time end the restarts, and how long a child may take to end.
const (
	maxCrashes  = 3
	crashesIn   = 10 * time.Minute
	endPatience = 6 * time.Second
	drainPoll   = 100 * time.Millisecond
)

// delays are the waits after the first crash, the second, and so on.
var delays = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Options of a Supervisor.
type Options struct {
	Home    string   // folder that is served
	Program string   // path of `tandem`
	Args    []string // after serve --supervised
	Env     []string // beside this process's own

	Stderr io.Writer    // of the child; nil discards
	Logger *slog.Logger // nil discards

	// Changed is called with each new status, by one goroutine at a time.
	Changed func(Status)
}

// A Status is the state of the process that serves.
type Status struct {
	Phase Phase `json:"phase"`         // empty before the first
	PID   int   `json:"pid,omitempty"` // of the child; 0 without one, or if it was adopted

	// Reason is the last line of the child before it crashed. It is set in the phases Waiting and
	// Crashed.
	Reason string `json:"reason,omitempty"`
}

// A Phase says what the supervisor is doing.
type Phase string

// The phases.
const (
	Running Phase = "running" // a child of ours serves
	Adopted Phase = "adopted" // a process of another start serves
	Waiting Phase = "waiting" // for the next start
	Crashed Phase = "crashed" // too often; nothing is started until Again is called
)

// A Supervisor keeps a process serving.
type Supervisor struct {
	o     Options
	again chan struct{}
	last  atomic.Pointer[Status] // nil before the first

	pause func(ctx context.Context, crashes int) // between a crash and the next start
}

// New returns a supervisor. It works while Run runs.
func New(o Options) *Supervisor {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.Changed == nil {
		o.Changed = func(Status) {}
	}
	return &Supervisor{o: o, again: make(chan struct{}, 1), pause: pause}
}

// delay returns the wait before the next start, after that many crashes.
func delay(crashes int) time.Duration { return delays[min(crashes, len(delays))-1] }

// pause waits for the delay, or until ctx ends.
func pause(ctx context.Context, crashes int) {
	select {
	case <-time.After(delay(crashes)):
	case <-ctx.Done():
	}
}

// setStatus stores a new status, and calls Changed.
func (s *Supervisor) setStatus(st Status) {
	s.last.Store(&st)
	s.o.Changed(st)
}

// Status returns the latest status.
func (s *Supervisor) Status() Status {
	if st := s.last.Load(); st != nil {
		return *st
	}
	return Status{}
}

// Again ends the wait after too many crashes. It never blocks.
func (s *Supervisor) Again() {
	select {
	case s.again <- struct{}{}:
	default:
	}
}

// Run supervises until ctx ends, and then until the child has ended. It fails if the program cannot
// be started at all.
func (s *Supervisor) Run(ctx context.Context) error {
	var crashes []time.Time
	for ctx.Err() == nil {
		if s.adopt(ctx) {
			crashes = nil
			continue // the adopted process has ended
		}
		began := time.Now()
		reason, err := s.child(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > crashesIn {
			crashes = nil
		}
		crashes = append(crashes, time.Now())
		s.o.Logger.Warn("the server ended", "reason", reason, "crashes", len(crashes))
		if n := len(crashes); n >= maxCrashes &&
			crashes[n-1].Sub(crashes[n-maxCrashes]) < crashesIn {
			s.setStatus(Status{Phase: Crashed, Reason: reason})
			select {
			case <-s.again: // Again was called before the crash
			default:
			}
			select {
			case <-s.again:
			case <-ctx.Done():
			}
			crashes = nil
			continue
		}
		s.setStatus(Status{Phase: Waiting, Reason: reason})
		s.pause(ctx, len(crashes))
	}
	return nil
}

// adopt follows a process that already serves, until that ends. It returns false if no process
// serves.
func (s *Supervisor) adopt(ctx context.Context) bool {
	c := control.Dial(s.o.Home)
	defer c.Close()
	found, leaving := false, false
	for st, err := range c.Watch(ctx) {
		if err != nil {
			break
		}
		leaving = st.Phase == control.PhaseDraining
		if !found && !leaving {
			s.setStatus(Status{Phase: Adopted})
		}
		found = true
	}
	if leaving { // a child would wait for the lock until the requests end
		select {
		case <-time.After(drainPoll):
		case <-ctx.Done():
		}
	}
	return found
}

// child runs a child until it ends. reason is the child's last line, or how it ended.
func (s *Supervisor) child(ctx context.Context) (reason string, err error) {
	cmd := exec.Command(s.o.Program, slices.Concat([]string{"serve", "--supervised"}, s.o.Args)...)
	cmd.Env = slices.Concat(os.Environ(), s.o.Env, []string{"TANDEM_HOME=" + s.o.Home})
	last := &lastLine{w: s.o.Stderr}
	cmd.Stderr = last
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start the server: %w", err)
	}
	s.setStatus(Status{Phase: Running, PID: cmd.Process.Pid})
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		life.Close()
		select {
		case err = <-ended:
		case <-time.After(endPatience):
			s.o.Logger.Warn("the server did not end, and is killed")
			_ = cmd.Process.Kill() // it may have ended meanwhile
			err = <-ended
		}
	}
	return ending(err, last.line()), nil
}

// ending returns why a process ended. If it ended by itself with an error, or aborted, the reason
// is its last line. The last line of a killed process does not say why.
func ending(err error, said string) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return "it ended by itself"
	case !ok:
		return err.Error()
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	if said == "" || status.Signaled() && status.Signal() != syscall.SIGABRT {
		return "it was ended by " + exit.String()
	}
	return said
}
