package endpoint

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// portOwner names the program that listens on a port. It is empty where that is not known, as for
// the programs of other users.
func portOwner(ctx context.Context, port int) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	// -F prints a line that begins with p for the pid, and one that begins with c for the command.
	out, err := exec.CommandContext(ctx, "/usr/sbin/lsof", "-nP", fmt.Sprintf("-iTCP:%d", port),
		"-sTCP:LISTEN", "-Fpc").Output()
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
