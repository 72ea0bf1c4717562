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
)

// ErrRunning says that another program has the door of the home folder. It has been asked to show
// its window, if OpenDoor was to ask.
var ErrRunning = errors.New("another Tandem has this home folder")

// patience is how long a caller waits for an answer at a door. The other program may just be
// opening it.
const patience = 5 * time.Second

// A Door is where a second start finds the first one. The second start asks, and the first shows
// its window. The window asks there too, over HTTP as well. One program at a time has the door of a
// home folder, until it closes the door or ends.
type Door struct {
	listener net.Listener
	lock     *os.File
	server   http.Server
}

// OpenDoor opens the door of a home folder. If another program has it, OpenDoor returns ErrRunning;
// with ask it also asks that program to show its window. A start at login does not ask. Error:
// ErrRunning.
func OpenDoor(home string, ask bool) (*Door, error) {
	dir, err := control.SocketFolder(home)
	if err != nil {
		return nil, err
	}
	path := control.MenuPath(home)
	lock, err := os.OpenFile(filepath.Join(dir, "menu.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// The kernel drops the lock with the process, however it ends.
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) && !ask {
		return nil, errors.Join(ErrRunning, lock.Close())
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(knock(home), lock.Close())
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
	return &Door{listener: l, lock: lock}, nil
}

// knock asks the program that has the door to show its window. It returns ErrRunning, with the
// reason if that program could not be told. A program that has opened its door and does not answer
// yet finds the request there later.
func knock(home string) error {
	c := control.DialMenu(home)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// Serve answers at the door with a desk, until the door is closed.
func (d *Door) Serve(desk Desk) error {
	d.server.Handler, d.server.ReadHeaderTimeout = desk.Handler(), patience
	if err := d.server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close closes the door. Another program may then open one.
func (d *Door) Close() error {
	err := d.server.Close()
	if e := d.listener.Close(); !errors.Is(e, net.ErrClosed) { // the server may have done it
		err = errors.Join(err, e)
	}
	return errors.Join(err, d.lock.Close())
}
