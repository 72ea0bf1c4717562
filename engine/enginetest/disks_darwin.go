package enginetest

import "testing"

// SilentFolder skips the test: only Linux mounts a file system without a helper.
func SilentFolder(t testing.TB) string {
	t.Skip("no folder can be silent here")
	return ""
}

// SmallDisk skips the test.
func SmallDisk(t testing.TB, bytes int) string {
	t.Skip("no disk can be small here")
	return ""
}

// FillNames does nothing, since SmallDisk has skipped the test.
func FillNames(testing.TB, string) {}

// FillDisk does nothing, since SmallDisk has skipped the test.
func FillDisk(testing.TB, string) (free func()) { return func() {} }
