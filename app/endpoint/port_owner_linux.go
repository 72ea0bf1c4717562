package endpoint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// portOwner names the program that listens on a port. It is empty where that is not known, as for
// the programs of other users.
func portOwner(_ context.Context, port int) string {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			// sl local remote state queues timer retransmits uid timeout inode
			const listening = "0A"
			f := strings.Fields(string(line))
			if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) &&
				f[3] == listening {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && sockets[to] {
			pid := strings.Split(file, "/")[2]
			if name, err := os.ReadFile("/proc/" + pid + "/comm"); err == nil {
				return fmt.Sprintf("%s (pid %s)", bytes.TrimSpace(name), pid)
			}
		}
	}
	return ""
}
