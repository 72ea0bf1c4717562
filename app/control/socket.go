package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxSocketPath is the length of a socket address that every system takes: 104 bytes on macOS, 108
// on Linux, less the terminating zero and some room.
const maxSocketPath = 100

// SocketPath returns the place of the control socket of a home folder. It is in the run folder of
// the home. If that path is too long, it is in a folder of /tmp that is named after the home.
// TMPDIR has no say, because every process must find the same place.
func SocketPath(home string) string {
	path := filepath.Join(home, "run", "control.sock")
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(home))
	dir := "tandem-" + strconv.Itoa(os.Getuid()) + "-" + hex.EncodeToString(sum[:8])
	return filepath.Join("/tmp", dir, "control.sock")
}

// MenuPath returns the place of the menu bar's socket, beside the control socket.
func MenuPath(home string) string {
	return filepath.Join(filepath.Dir(SocketPath(home)), "menu.sock")
}

// SocketFolder makes the folder of a home's sockets, which only its owner may enter, and returns
// it. It refuses a folder that another user made.
func SocketFolder(home string) (string, error) {
	dir := filepath.Dir(SocketPath(home))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("control socket: %w", err)
	}
	if err := checkOwner(dir); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", fmt.Errorf("control socket: %w", err)
	}
	return dir, nil
}

// Listen opens the control socket of a home folder. The caller holds the lock on the home, so a
// socket found there is a dead one.
func Listen(home string) (net.Listener, error) {
	path := SocketPath(home)
	if _, err := SocketFolder(home); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return l, nil
}

// checkOwner refuses a folder that another user made or could exchange. In /tmp another user may
// come first.
func checkOwner(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Getuid() {
		return Errorf(CodeForbidden, "The folder %s of the control socket is not yours; remove it.",
			dir)
	}
	return nil
}
