package home

import "golang.org/x/sys/unix"

// excludeFromTimeMachine sets the attribute that `tmutil addexclusion` sets: a binary property list
// of the text com.apple.backupd.
func excludeFromTimeMachine(dir string) error {
	list := []byte("bplist00_\x10\x11com.apple.backupd\x08")
	trailer := make([]byte, 32)
	trailer[6], trailer[7] = 1, 1     // bytes of an offset, bytes of a reference
	trailer[15] = 1                   // objects
	trailer[31] = byte(len(list) - 1) // where the offsets are
	return unix.Setxattr(dir, "com.apple.metadata:com_apple_backup_excludeItem",
		append(list, trailer...), 0)
}
