package supervise

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tandem/app/control"
	"tandem/app/home"
)

// ErrRunning says that another program has the lock of the home folder. If LockInstance was called
// with ask, that program has been asked to show its window.
var ErrRunning = errors.New("another Tandem has this home folder")

// answerTimeout is how long a caller waits for an answer. The other program may just be opening its
// socket.
const answerTimeout = 5 * time.Second

// An InstanceLock lets one program at a time run on a home folder, until it closes the lock or
// ends. It has a socket on which a second instance asks the first one to show its window. The
// window asks there too, over HTTP as well.
type InstanceLock struct {
	listener net.Listener
	lock     *os.File
	server   http.Server
}

// LockInstance takes the lock of a home folder. If another program has it, LockInstance returns
// ErrRunning; with ask it also asks that program to show its window. A start at login does not ask.
// Error: ErrRunning.
func LockInstance(folder string, ask bool) (*InstanceLock, error) {
	_ = home.Make(folder) // if it refuses the folder, the server says why, and the menu shows that
	dir, err := control.SocketFolder(folder)
	if err != nil {
		return nil, err
	}
	path := control.MenuPath(folder)
	lock, err := os.OpenFile(filepath.Join(dir, "menu.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// The kernel releases the lock with the process, however it ends.
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) && !ask {
		return nil, errors.Join(ErrRunning, lock.Close())
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(askToShow(folder), lock.Close())
	}
	if err == nil {
		err = os.Remove(path) // of one that was killed
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	var l net.Listener
	if err == nil {
		l, err = net.Listen("unix", path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &InstanceLock{listener: l, lock: lock}, nil
}

// askToShow asks the program that has the lock to show its window. It returns ErrRunning, with the
// reason if that program could not be asked. A program that has opened its socket and does not
// answer yet finds the request there later.
func askToShow(home string) error {
	c := control.DialMenu(home)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	for {
		resp, err := c.Do(ctx, http.MethodPost, showPath, nil)
		if err == nil {
			return errors.Join(ErrRunning, resp.Body.Close())
		}
		closed := false // or is just opening it
		if e, ok := errors.AsType[*control.Error](err); ok {
			closed = e.Code == control.CodeUnavailable
		}
		if !closed && ctx.Err() != nil {
			return ErrRunning
		}
		if !closed || ctx.Err() != nil {
			return fmt.Errorf("%w, and does not answer: %w", ErrRunning, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Serve answers on the socket with a handler, until the lock is closed.
func (d *InstanceLock) Serve(handler ControlHandler) error {
	d.server.Handler, d.server.ReadHeaderTimeout = handler.Handler(), answerTimeout
	if err := d.server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close closes the socket and releases the lock. Another program may then take it.
func (d *InstanceLock) Close() error {
	err := d.server.Close()
	if e := d.listener.Close(); !errors.Is(e, net.ErrClosed) { // the server may have done it
		err = errors.Join(err, e)
	}
	return errors.Join(err, d.lock.Close())
}
