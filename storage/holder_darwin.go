package storage

import "golang.org/x/sys/unix"

// processName returns the name of a process, or an empty text.
func processName(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(p.Proc.P_comm[:])
}
