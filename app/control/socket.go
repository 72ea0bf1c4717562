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

// maxSocketPath is what the address of a Unix socket holds everywhere: 104
// bytes on macOS, 108 on Linux, less the terminating zero and some room.
const maxSocketPath = 100

// SocketPath is where the control socket of a home folder lies: in its run
// folder, or, if that path is too long for an address, in a folder of /tmp
// that is named after the home. Whatever TMPDIR says: every process must find
// the same.
func SocketPath(home string) string {
	path := filepath.Join(home, "run", "control.sock")
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(home))
	dir := "tandem-" + strconv.Itoa(os.Getuid()) + "-" + hex.EncodeToString(sum[:8])
	return filepath.Join("/tmp", dir, "control.sock")
}

// MenuPath is where the socket of the menu bar's door lies, beside the control socket.
func MenuPath(home string) string { return filepath.Join(filepath.Dir(SocketPath(home)), "menu.sock") }

// SocketFolder makes the folder of a home's sockets if need be, which only its
// owner may enter, and returns it. One that another user made is refused.
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

// Listen opens the control socket of a home folder. The caller holds the lock on
// the home, so that a socket found there is a dead one.
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

// checkOwner refuses a folder that another user made, or could exchange: in
// the temporary folder anyone may be first.
func checkOwner(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Getuid() {
		return Errorf(CodeForbidden, "The folder %s of the control socket is not yours; remove it.", dir)
	}
	return nil
}
