//go:build desktop

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"tandem/app/control"
	"tandem/app/supervise"
)

// relocator returns a Relocator that asks by the system's own dialog.
func (o options) relocator() supervise.Relocator {
	return supervise.Relocator{
		Bundle: o.bundle, Location: o.location, Note: filepath.Join(o.home, "stays-at"),
		Folders: []string{"/Applications", filepath.Join(control.UserHome(os.Getenv),
			"Applications")},
		Ask: askToMove, Open: openAfterUs, Log: o.log,
	}
}

// askToMove reports whether the person agrees. It is false where there is no such dialog.
func askToMove(question string) bool {
	return exec.Command("/usr/bin/osascript", "-e", "on run argv",
		"-e", `display dialog (item 1 of argv) with title "Tandem" buttons {"Not Now", "Move to Applications"} default button 2 cancel button 1`,
		"-e", "end run", question).Run() == nil
}

// openAfterUs opens an app after this process has ended, because until then this process holds the
// instance lock.
func openAfterUs(path string) error {
	cmd := exec.Command("/bin/sh", "-c",
		`while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; exec /usr/bin/open "$2"`,
		"sh", strconv.Itoa(os.Getpid()), path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
