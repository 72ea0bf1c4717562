//go:build !long

package enginetest

// Long is whether the long matrices run, which takes the build tag long. A sample of each runs
// always.
const Long = false
