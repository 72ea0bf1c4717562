package home

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Chip names the processor, empty if that is not known.
func Chip() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(info), "model name")
	line, _, _ := strings.Cut(after, "\n")
	_, name, _ := strings.Cut(line, ":")
	return strings.TrimSpace(name)
}

// FastCores counts the fast cores of a machine that has slow ones too, 0 if all cores are alike.
func FastCores() int { return 0 }

// System names the operating system with its version, empty if that is not known.
func System() string {
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				return strings.Trim(name, `"'`)
			}
		}
	}
	return ""
}

// Memory returns the machine's memory in bytes, 0 if it is not known.
func Memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
