package native

/*
#cgo LDFLAGS: -L${SRCDIR}/.deps/0.6.1 -ltandem_native
#cgo linux LDFLAGS: -ldl -lpthread -lm
#include "native.h"
*/
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A process runs the crate, and answers one call at a time. native.h has the form of the calls.
type process struct {
	group int         // the process group of it and its copies
	first *os.Process // nil for a copy

	mu   sync.Mutex // held for a call
	conn *net.UnixConn
}

// A budget is what a call may take. A process that has used it up ends.
type budget struct {
	time   time.Duration // of the processor
	memory int64         // bytes that the process may have more than when it was copied
	low    bool          // at the lowest priority
}

// A failure is the crate's answer to a call that failed.
type failure struct {
	kind    byte // of native.h
	message string
}

func (f *failure) Error() string { return f.message }

// crashed is the kind of a call that ends its process, whichever that is. The crate has no such answer.
const crashed = 0xff

// exhausted reports whether err says that a call has used up its budget.
func exhausted(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.kind == C.TANDEM_TIME || f.kind == C.TANDEM_MEMORY)
}

// startProcess starts this program again. serve.c answers in it, so that main does not run.
func startProcess() (*process, error) {
	program := "/proc/self/exe" // it is this program even after the file was replaced
	if runtime.GOOS != "linux" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	p, theirs, err := newProcess()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: []string{C.TANDEM_NATIVE_NAME}, Env: processEnv(os.Environ()),
		ExtraFiles:  []*os.File{theirs},                  // descriptor 3
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, // Ctrl-C in a terminal is not for it
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("start the process for templates and grammars: %w", err)
	}
	p.group, p.first = cmd.Process.Pid, cmd.Process
	go cmd.Wait() // it ends when its socket closes
	return p, nil
}

// processEnv returns the variables that a process needs: where the loader finds libraries. No token
// or password goes along.
func processEnv(all []string) []string {
	env := []string{"OPENBLAS_NUM_THREADS=1"} // it would start a thread for each core
	for _, v := range all {
		if strings.HasPrefix(v, "LD_") || strings.HasPrefix(v, "DYLD_") {
			env = append(env, v)
		}
	}
	return env
}

// newProcess returns a process without a program, and the end of the socket at which that answers.
func newProcess() (*process, *os.File, error) {
	syscall.ForkLock.RLock()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("open a socket for templates and grammars: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), ""), os.NewFile(uintptr(ends[1]), "")
	conn, err := net.FileConn(ours)
	ours.Close() // FileConn has duplicated it
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return &process{conn: conn.(*net.UnixConn)}, theirs, nil
}

// Close ends the process, whatever it computes.
func (p *process) Close() error { return p.conn.Close() }

// end is Close for one that may be stopped, which does not see its socket close.
func (p *process) end() {
	p.Close()
	if p.first != nil {
		_ = p.first.Kill() // an error says that it has ended
	}
}

// copy returns a copy of p as p is now.
func (p *process) copy() (*process, error) {
	c, theirs, err := newProcess()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c.group = p.group
	p.mu.Lock()
	defer p.mu.Unlock()
	rights := syscall.UnixRights(int(theirs.Fd()))
	if _, _, err := p.conn.WriteMsgUnix(head('f', 0, budget{}), rights, nil); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// call returns the answer to one call, or a *failure. When ctx ends first, the process ends, and
// call returns ctx's cause.
func (p *process) call(
	ctx context.Context, what byte, body []byte, b budget,
) (answer []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Done() != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		stop := context.AfterFunc(ctx, func() { p.conn.Close() })
		defer func() {
			if !stop() {
				answer, err = nil, context.Cause(ctx)
			}
		}()
	}
	parts := net.Buffers{head(what, len(body), b), body}
	if _, err := parts.WriteTo(p.conn); err != nil {
		return nil, ended(err)
	}
	var frame [5]byte
	if _, err := io.ReadFull(p.conn, frame[:]); err != nil {
		return nil, ended(err)
	}
	answer = make([]byte, binary.NativeEndian.Uint32(frame[1:]))
	if _, err := io.ReadFull(p.conn, answer); err != nil {
		return nil, ended(err)
	}
	if frame[0] != 0 {
		return nil, &failure{frame[0], string(answer)}
	}
	return answer, nil
}

// ErrProcess ends a call whose process has ended or does not answer, and so did the next one. It says
// nothing of the template or the grammar: something else ends processes, stops them, or leaves them too
// little of the processor.
var ErrProcess error = lostError{}

type lostError struct{}

func (lostError) Error() string {
	return "the process for templates and grammars has ended or does not answer"
}

// Temporary reports that the same call may succeed; see engine.Matcher.
func (lostError) Temporary() bool { return true }

// errEnded is ErrProcess where the process is known to have ended. A stack that overflows does that.
var errEnded = fmt.Errorf("%w: it has ended", ErrProcess)

func ended(err error) error { return fmt.Errorf("%w (%v)", errEnded, err) }

// head returns the head of a request.
func head(what byte, size int, b budget) []byte {
	low := byte(0)
	if b.low {
		low = 1
	}
	h := []byte{what, low, 0, 0}
	h = binary.NativeEndian.AppendUint32(h, uint32(size))
	h = binary.NativeEndian.AppendUint32(h, uint32(b.time.Milliseconds()))
	return binary.NativeEndian.AppendUint32(h, uint32(b.memory>>10))
}
