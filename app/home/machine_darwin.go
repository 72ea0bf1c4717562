package home

import "golang.org/x/sys/unix"

// Chip names the processor, empty if that is not known.
func Chip() string {
	name, _ := unix.Sysctl("machdep.cpu.brand_string")
	return name
}

// FastCores counts the fast cores of a machine that has slow ones too, 0 if all cores are alike.
func FastCores() int {
	if kinds, err := unix.SysctlUint32("hw.nperflevels"); err != nil || kinds < 2 {
		return 0
	}
	n, _ := unix.SysctlUint32("hw.perflevel0.logicalcpu")
	return int(n)
}

// System names the operating system with its version, empty if that is not known.
func System() string {
	version, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		return "macOS"
	}
	return "macOS " + version
}

// Memory returns the machine's memory in bytes, 0 if it is not known.
func Memory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
