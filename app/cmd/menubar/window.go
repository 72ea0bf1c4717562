//go:build desktop

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
)

// A window is the window's program while it runs. Its lock is held only for moments, because the
// system's own thread takes it too at the end of the menu.
type window struct {
	program, home string
	log           *slog.Logger

	mu     sync.Mutex
	cmd    *exec.Cmd // or nil
	closed bool      // with the menu
	show   string    // what it is to show, until it asks; see control.ToShow
}

// toShow takes what the window is to show.
func (w *window) toShow() (show string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	show, w.show = w.show, ""
	return show
}

// open starts the program, or asks the running one to bring its window to the front. The program
// then asks what to show. After the end of the menu open starts no window.
func (w *window) open(show string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.show = show
	if w.cmd != nil {
		_ = w.cmd.Process.Signal(showSignal) // it may just have ended
		return nil
	}
	cmd := exec.Command(w.program, "--follow")
	cmd.Env = append(os.Environ(), "TANDEM_HOME="+w.home)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		w.log.Error("the window cannot be opened", "error", err)
		return fmt.Errorf("the window cannot be opened: %w", err)
	}
	w.cmd = cmd
	go func() {
		err := cmd.Wait()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			w.log.Error("waiting for the window", "error", err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cmd == cmd {
			w.cmd = nil
		}
	}()
	return nil
}

// close ends the window at the end of the menu. Both ways in which the menu ends call it. It
// signals the window once, because Wails must not be asked to quit again while it quits.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.cmd != nil {
		_ = w.cmd.Process.Signal(os.Interrupt) // it may just have ended
		w.cmd = nil
	}
}
