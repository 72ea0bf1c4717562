package app

import "golang.org/x/sys/unix"

// physicalMemory returns the machine's bytes, 0 if they are not known.
func physicalMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
