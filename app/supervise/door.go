package supervise

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tandem/app/control"
)

// ErrRunning says that another program has the door of the home folder. It has
// been knocked at.
var ErrRunning = errors.New("another Tandem has this home folder")

// A Door is where a second start finds the first: it knocks, and the first shows
// its window. One program at a time has the door of a home folder, until it
// closes it or ends.
type Door struct {
	listener net.Listener
	lock     *os.File
}

// OpenDoor opens the door of a home folder. If another program has it, that is asked
// to show its window where ask says so: one that the system starts at login does not
// want to see any. Error: ErrRunning.
func OpenDoor(home string, ask bool) (*Door, error) {
	dir, err := control.SocketFolder(home)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "menu.sock")
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
		return nil, errors.Join(knock(path), lock.Close())
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
	return &Door{l, lock}, nil
}

// knock returns ErrRunning, with why nobody was told if so.
func knock(path string) error {
	const patience = 5 * time.Second // the first may just be opening its door
	deadline := time.Now().Add(patience)
	for {
		c, err := net.Dial("unix", path)
		if err == nil {
			return errors.Join(ErrRunning, c.Close())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w, and does not answer: %w", ErrRunning, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Knocks calls f with each knock, until the door is closed.
func (d *Door) Knocks(f func()) {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		c.Close()
		f()
	}
}

// Close closes the door, and lets another program open one.
func (d *Door) Close() error { return errors.Join(d.listener.Close(), d.lock.Close()) }
