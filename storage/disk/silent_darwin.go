package disk

import (
	"strings"

	"golang.org/x/sys/unix"
)

// mayFallSilent reports whether a file is at the other end of a network, or in a file system that
// another program serves.
func mayFallSilent(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return true
	}
	kind := unix.ByteSliceToString(st.Fstypename[:])
	return st.Flags&unix.MNT_LOCAL == 0 || strings.Contains(kind, "fuse")
}
