package storage

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// lockToWrite is the byte of SQLite's -shm file that a process locks while it writes. SQLite's file
// format names it WAL_WRITE_LOCK.
const lockToWrite = 120

// A holder tells which process writes. It keeps the -shm file open: closing any descriptor of it
// would drop the locks that SQLite has in this process.
type holder struct {
	mu  sync.Mutex
	shm *os.File
}

// name returns the process that holds the lock to write, or "another program" if that is not known.
func (h *holder) name(path string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shm == nil {
		var err error
		if h.shm, err = os.Open(path + "-shm"); err != nil {
			return "another program"
		}
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: lockToWrite, Len: 1}
	err := unix.FcntlFlock(h.shm.Fd(), unix.F_GETLK, &lock)
	if err != nil || lock.Type == unix.F_UNLCK || lock.Pid <= 0 {
		return "another program"
	}
	if name := processName(int(lock.Pid)); name != "" {
		return fmt.Sprintf("another program, %s (pid %d),", name, lock.Pid)
	}
	return fmt.Sprintf("another program (pid %d)", lock.Pid)
}

// close is called after SQLite has closed the database.
func (h *holder) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shm != nil {
		h.shm.Close()
		h.shm = nil
	}
}
