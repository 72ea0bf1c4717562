package program

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Foreground runs a program on our own terminal until it ends. Ctrl-C reaches the program directly,
// because it shares our process group. A SIGTERM sent to us alone is passed on. The program then
// drains and exits, so we wait.
func Foreground(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM {
					cmd.Process.Signal(s)
				}
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(done)
	return err
}
