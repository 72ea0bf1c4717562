package home

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
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

// Memory returns the memory in bytes that this process may have: the machine's, or less in a control
// group with a limit, such as a container. It returns 0 if that is not known.
func Memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	machine := int64(info.Totalram) * int64(info.Unit)
	if limit := groupLimit(os.DirFS("/")); limit > 0 {
		return min(machine, limit)
	}
	return machine
}

// groupLimit returns the least memory limit of this process's control groups, of either version, 0 if
// none has one. root is the root of the file system. A container may see its own groups as the root.
func groupLimit(root fs.FS) (least int64) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(f) < 3 {
			continue
		}
		// Beyond memory.high the kernel lets a group hardly run.
		top, files := "sys/fs/cgroup", []string{"memory.max", "memory.high"}
		switch {
		case slices.Contains(strings.Split(f[1], ","), "memory"): // version 1
			top, files = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}
		case f[1] != "":
			continue
		}
		for group := path.Join("/", f[2]); ; group = path.Dir(group) {
			for _, file := range files {
				text, _ := fs.ReadFile(root, path.Join(top, group, file))
				limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
				if err == nil && limit > 0 && (least == 0 || limit < least) {
					least = limit
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}
