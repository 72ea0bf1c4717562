package storage

import (
	"fmt"
	"os"
	"strings"
)

// processName returns the name of a process, or an empty text.
func processName(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
