package enginetest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// SilentFolder returns a folder that answers no call, like a disk at the other end of a broken
// network: a file system whose program never speaks. The calls in it come back when the test ends.
// The test is skipped where it may not mount.
func SilentFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no file system can be served here: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := syscall.Mount("silent", dir, "fuse", 0, options); err != nil {
		syscall.Close(fd)
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		syscall.Close(fd) // ends the calls that wait
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// SmallDisk returns a folder on a disk of so many bytes. The test is skipped where it may not mount.
func SmallDisk(t testing.TB, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("small", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// FillNames leaves a disk of SmallDisk no inode, so that it can hold no further file.
func FillNames(t testing.TB, dir string) {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("nr_inodes=%d", st.Files-st.Ffree)
	if err := syscall.Mount("small", dir, "tmpfs", syscall.MS_REMOUNT, options); err != nil {
		t.Fatal(err)
	}
}

// FillDisk writes a file into dir until the disk has no room, and returns what removes it.
func FillDisk(t testing.TB, dir string) (free func()) {
	t.Helper()
	f, err := os.CreateTemp(dir, "filler")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, n := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Error(err)
		}
	}
}
