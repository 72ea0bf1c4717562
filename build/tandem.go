package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// buildTandem builds the command line program with the interface inside, which is set up already, and returns its path.
func (b *builder) buildTandem(ctx context.Context) (string, error) {
	path := b.programs().tandem
	product, err := b.product()
	if err != nil {
		return "", err
	}
	return path, b.step("tandem: build", b.command(ctx, "go", "build", "-tags", "ui", "-ldflags", product.versionFlag(), "-o", path, "./app/cmd/tandem"))
}

// runVerb builds tandem and serves in the foreground.
func runVerb(ctx context.Context, b *builder, args []string) error {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "-help") {
		fmt.Fprintln(b.out, "usage: go run ./build run [--headless] [flags of tandem serve]\n"+
			"Serves the model chosen last, at first the pocket model, unless the flags name another; Ctrl-C stops it.\n"+
			"With a display it opens the menu bar and the window, unless --headless says no.")
		return nil
	}
	headless := !hasDisplay()
	if len(args) > 0 && args[0] == "--headless" {
		headless, args = true, args[1:]
	}
	var more []requirement
	if !headless {
		more = desktopRequirements()
	}
	if err := b.setupAll(ctx, more); err != nil {
		return err
	}
	if !headless {
		p, err := b.buildDesktop(ctx)
		if err != nil {
			return err
		}
		return foreground(exec.Command(p.menubar, slices.Concat([]string{"--program", p.tandem, "--window", p.window, "--"}, args)...))
	}
	program, err := b.buildTandem(ctx)
	if err != nil {
		return err
	}
	return foreground(serveCommand(program, args))
}

// serveCommand serves with the flags given and nothing beside them: a model named here would become the user's choice.
func serveCommand(program string, args []string) *exec.Cmd {
	return exec.Command(program, append([]string{"serve"}, args...)...)
}

// foreground runs a program on our own terminal until it ends by itself. Ctrl-C reaches it directly, as it shares
// our process group; a SIGTERM sent to us alone is passed on. It then drains and exits, so we wait.
func foreground(cmd *exec.Cmd) error {
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

// readyLimit is how long a server may take to print its address, model loading included.
const readyLimit = 60 * time.Second

// A server is a tandem serve that a verb started for itself, on a home of its own.
type server struct {
	url  string // http://127.0.0.1:PORT
	cmd  *exec.Cmd
	home string
}

// startServer starts program's serve on a free port and an empty home folder and waits for its address.
func (b *builder) startServer(ctx context.Context, program string, args ...string) (*server, error) {
	return b.startServerLogging(ctx, os.Stderr, program, args...)
}

// startServerLogging is startServer for one whose standard error goes to log.
func (b *builder) startServerLogging(ctx context.Context, log io.Writer, program string, args ...string) (*server, error) {
	home, err := os.MkdirTemp("", "tandem-home-")
	if err != nil {
		return nil, err
	}
	cmd := b.command(ctx, program, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(cmd.Env, "TANDEM_HOME="+home, "HF_HUB_OFFLINE=1") // whoever looks at the pages asks no hub
	cmd.Stderr = log
	s := &server{cmd: cmd, home: home}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		os.RemoveAll(home)
		return nil, err
	}
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(stdout)
		if scanner.Scan() {
			lines <- scanner.Text()
		}
		for scanner.Scan() { // keep the pipe empty
		}
	}()
	select {
	case line, ok := <-lines:
		if !ok || !strings.HasPrefix(line, "http://") {
			s.stop()
			return nil, fmt.Errorf("tandem serve printed %q instead of its address", line)
		}
		s.url = line
		return s, nil
	case <-time.After(readyLimit):
		s.stop()
		return nil, fmt.Errorf("tandem serve printed no address within %v", readyLimit)
	}
}

// stop asks the server to drain and waits; a server that doesn't end well is an error.
func (s *server) stop() error {
	defer os.RemoveAll(s.home)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("tandem serve after SIGTERM: %w", err)
	}
	return nil
}
