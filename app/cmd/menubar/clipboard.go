//go:build desktop

package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
)

// showSignal makes the window's program bring its window to the front. It is SIGUSR2, because
// WebKit's garbage collector uses SIGUSR1.
const showSignal = syscall.SIGUSR2

// copyText puts a text on the clipboard, with the first program that works.
func copyText(ctx context.Context, text string) error {
	for _, command := range [][]string{{"pbcopy"}, {"wl-copy"},
		{"xclip", "-selection", "clipboard"}} {
		path, err := exec.LookPath(command[0])
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, path, command[1:]...)
		cmd.Stdin = strings.NewReader(text)
		if err := cmd.Run(); err == nil {
			return nil
		}
	}
	return errors.New("nothing could be copied: there is no pbcopy, wl-copy or xclip that works")
}
