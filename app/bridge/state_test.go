package bridge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said hands over what a runner says.
type said chan string

func (s said) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

// Runs on one machine wait for each other, in whatever checkout.
func TestRunsDoNotOverlap(t *testing.T) {
	a := newBench(t, "")
	record := filepath.Join(t.TempDir(), "record")
	script := "echo begin >> " + record + "; sleep 0.3; echo end >> " + record + "\n"
	writeScript(t, filepath.Join(a.programs, "go"), script)
	b := newBench(t, script)
	b.runner.State = a.runner.State
	a.ask("tests", "nonce-a", nil)
	b.ask("tests", "nonce-b", nil)
	turn, err := acquireRunLock(t.Context(), a.runner.State, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := make(said, 100)
	a.runner.Err, b.runner.Err = said, said
	var both sync.WaitGroup
	for _, x := range []*bench{a, b} {
		both.Go(func() {
			if s, err := x.runner.Run(t.Context(), ManifestFile); err != nil || s.ExitCode != 0 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	for range 2 {
		if text := <-said; !strings.Contains(text, "waiting for it") {
			t.Errorf("a run that waits says %q", text)
		}
	}
	turn.release()
	both.Wait()
	if got := read(t, record); got != "begin\nend\nbegin\nend\n" {
		t.Errorf("the runs overlap: %q", got)
	}
}

// A run that waited in vain, or was stopped, leaves a summary, and its nonce is still new.
func TestWaitingLeavesAReason(t *testing.T) {
	b := newBench(t, "exit 0\n")
	b.ask("tests", "nonce-1", nil)
	turn, err := acquireRunLock(t.Context(), b.runner.State, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, wait := range map[int]func() (context.Context, context.CancelFunc){
		1: func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), time.Second)
		},
		ExitStopped: func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := wait()
		_, err := b.runner.Run(ctx, ManifestFile)
		cancel()
		if err == nil || ExitCode(err) != want {
			t.Errorf("the run ended with %d, want %d: %v", ExitCode(err), want, err)
		}
		s, err := parseSummary([]byte(b.result(rejectedFolder, summaryFile)))
		if err != nil || s.ExitCode != want || s.Error == "" {
			t.Errorf("the summary of %d is %+v, %v", want, s, err)
		}
	}
	turn.release()
	if s := b.run(t.Context()); s.ExitCode != 0 {
		t.Errorf("after it: %+v", s)
	}
}

// A nonce runs once: in this checkout, in another of this machine, and while it runs.
func TestNonceRunsOnce(t *testing.T) {
	b := newBench(t, "echo x >> ~/ran\n")
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	before := b.result("nonce-1", summaryFile)
	for name, change := range map[string]func(){
		"again":      func() {},
		"no results": func() { os.RemoveAll(filepath.Join(b.checkout, resultsFolder)) },
		"no state": func() {
			os.RemoveAll(b.runner.State)
			write(t, filepath.Join(b.checkout, resultsFolder, "nonce-1", summaryFile), before)
		},
	} {
		change()
		_, err := b.runner.Run(t.Context(), ManifestFile)
		if ExitCode(err) != ExitRejected || !strings.Contains(err.Error(), "nonce-1 ran before") {
			t.Errorf("%s: %v", name, err)
		}
		// Where no results go back, the client learns why.
		text, err := os.ReadFile(filepath.Join(b.checkout, resultsFolder, rejectedFolder, summaryFile))
		if told := err == nil; told != (name == "no results") ||
			told && !strings.Contains(string(text), "nonce-1 ran before on this machine") {
			t.Errorf("%s: the replay left %q", name, text)
		}
		if text := b.wrote("ran"); text != "x\n" {
			t.Fatalf("%s: it ran again", name)
		}
		os.RemoveAll(b.runner.State)
		os.MkdirAll(filepath.Join(b.runner.State, "nonces"), 0o700)
		write(t, filepath.Join(b.runner.State, "nonces/nonce-1"), "")
		os.RemoveAll(filepath.Join(b.checkout, resultsFolder))
		write(t, filepath.Join(b.checkout, resultsFolder, "nonce-1", summaryFile), before)
	}
	// Two at the same time: one runs, the other is refused.
	c, d := newBench(t, "sleep 0.2\n"), newBench(t, "sleep 0.2\n")
	d.runner.State = c.runner.State
	c.ask("tests", "nonce-2", nil)
	d.ask("tests", "nonce-2", nil)
	codes := make(chan int, 2)
	for _, x := range []*bench{c, d} {
		go func() {
			_, err := x.runner.Run(t.Context(), ManifestFile)
			codes <- ExitCode(err)
		}()
	}
	if a, b := <-codes, <-codes; a+b != ExitRejected {
		t.Errorf("two runs of one nonce ended with %d and %d", a, b)
	}
}

// kill runs the request in a separate process and kills it once the command has written its number,
// which kill returns.
func (b *bench) kill() (pid int) {
	b.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"BRIDGE_TEST_RUN=" + b.checkout, "BRIDGE_TEST_STATE=" + b.runner.State,
		"PATH=" + b.env["PATH"], "HOME=" + b.env["HOME"], "RUNNER_TEMP=" + b.env["RUNNER_TEMP"]}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	<-b.until("pid").Done()
	cmd.Process.Kill()
	cmd.Wait()
	fmt.Sscan(b.wrote("pid"), &pid)
	b.t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	s, err := parseSummary([]byte(b.result("nonce-1", summaryFile)))
	if err != nil || s.ExitCode != ExitStopped || s.Error != "the runner was killed before the run was over" {
		b.t.Errorf("the summary is %+v, %v", s, err)
	}
	if syscall.Kill(pid, 0) != nil {
		b.t.Fatalf("the process %d did not outlive the runner", pid)
	}
	return pid
}

// A runner that is killed leaves a summary that says so. The next run ends the command that it left
// running.
func TestNextRunEndsWhatAKilledOneLeft(t *testing.T) {
	b := newBench(t, "trap '' TERM INT; echo $$ > ~/pid; sleep 60; sleep 60\n")
	b.ask("tests", "nonce-1", nil)
	pid := b.kill()
	turn, err := acquireRunLock(t.Context(), b.runner.State, nil)
	if err != nil {
		t.Fatal(err)
	}
	turn.release()
	if !gone(pid) {
		t.Errorf("the process %d lives on beside the next run", pid)
	}
}

// What left its group is not ended, and nothing runs beside it. The client learns it. The number of
// the group is forgotten, because another may get it.
func TestNothingRunsBesideWhatLeftItsGroup(t *testing.T) {
	b := newBench(t, "setsid sh -c 'echo $$ > ~/pid; exec sleep 60' & while [ ! -s ~/pid ]; do sleep 0.1; done; "+
		"sleep 60\n")
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("this machine has no setsid")
	}
	b.ask("tests", "nonce-1", nil)
	pid := b.kill()
	noted := filepath.Join(b.runner.State, "run")
	if read(t, noted) == "" {
		t.Error("no process group is noted")
	}
	b.ask("tests", "nonce-2", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := b.runner.Run(ctx, ManifestFile)
	if ctx.Err() != nil || ExitCode(err) != 1 || syscall.Kill(pid, 0) != nil {
		t.Errorf("the next run ended with %v", err)
	}
	if s := b.result(rejectedFolder, summaryFile); !strings.Contains(s,
		"the run did not begin: a process of an earlier run still lives; end it on the Mac") ||
		strings.Contains(s, b.runner.State) {
		t.Errorf("the summary is %s", s)
	}
	if group := read(t, noted); group != "" {
		t.Errorf("the group %s is still noted", group)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	turn, err := acquireRunLock(t.Context(), b.runner.State, nil)
	if err != nil {
		t.Fatal(err)
	}
	turn.release()
}

// What left its group and outlives a run does not hold the next one up.
func TestTurnEndsWithItsRun(t *testing.T) {
	b := newBench(t, "setsid sh -c 'echo $$ > ~/pid; exec sleep 60' & while [ ! -s ~/pid ]; do sleep 0.1; done\n")
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("this machine has no setsid")
	}
	b.runner.grace = 200 * time.Millisecond
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	var pid int
	fmt.Sscan(b.wrote("pid"), &pid)
	defer syscall.Kill(pid, syscall.SIGKILL)
	if pid == 0 || syscall.Kill(pid, 0) != nil {
		t.Fatalf("the process %d does not outlive the run", pid)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	turn, err := acquireRunLock(ctx, b.runner.State, func() { t.Error("the next run waits") })
	if err != nil {
		t.Fatal(err)
	}
	turn.release()
}
