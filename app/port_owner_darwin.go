package app

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// portOwner names the program that listens on a port, empty where that is not
// known: of other users' programs it is not.
func portOwner(ctx context.Context, port int) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	// -F: a line for the pid, which begins with p, and one for the command, with c.
	out, err := exec.CommandContext(ctx, "/usr/sbin/lsof", "-nP", fmt.Sprintf("-iTCP:%d", port), "-sTCP:LISTEN", "-Fpc").Output()
	if err != nil {
		return ""
	}
	pid, name := "", ""
	for line := range strings.Lines(string(out)) {
		switch line = strings.TrimSpace(line); {
		case name != "" || line == "":
		case line[0] == 'p':
			pid = line[1:]
		case line[0] == 'c':
			name = line[1:]
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s (pid %s)", name, pid)
}
