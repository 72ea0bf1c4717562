package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tandem/build/setup"
)

// readyLimit is how long a server may take to print its address. That includes loading the model.
const readyLimit = 60 * time.Second

// A Server is a tandem serve that a verb started for itself, with a home of its own.
type Server struct {
	URL  string // http://127.0.0.1:PORT
	cmd  *exec.Cmd
	Home string
}

// StartServer starts program's serve on a free port with an empty home folder, and waits for its
// address.
func StartServer(
	ctx context.Context, b *setup.Builder, program string, args ...string,
) (*Server, error) {
	return StartServerLogging(ctx, b, os.Stderr, program, args...)
}

// StartServerLogging starts a server as StartServer does. The server's standard error goes to log.
func StartServerLogging(
	ctx context.Context, b *setup.Builder, log io.Writer, program string, args ...string,
) (*Server, error) {
	home, err := os.MkdirTemp("", "tandem-home-")
	if err != nil {
		return nil, err
	}
	cmd := b.Command(ctx, program, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(cmd.Env, "TANDEM_HOME="+home, "HF_HUB_OFFLINE=1") // no page asks the hub
	cmd.Stderr = log
	s := &Server{cmd: cmd, Home: home}
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
			s.Stop()
			return nil, fmt.Errorf("tandem serve printed %q instead of its address", line)
		}
		s.URL = line
		return s, nil
	case <-time.After(readyLimit):
		s.Stop()
		return nil, fmt.Errorf("tandem serve printed no address within %v", readyLimit)
	}
}

// Stop asks the server to drain, and waits. A server that does not end well is an error.
func (s *Server) Stop() error {
	defer os.RemoveAll(s.Home)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil &&
		!errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("tandem serve after SIGTERM: %w", err)
	}
	return nil
}
