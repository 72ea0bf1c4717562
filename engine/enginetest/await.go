package enginetest

import (
	"testing"
	"time"
)

// Await returns once ok does. It asks every millisecond, and fails the test after two minutes
// without what is awaited. It is for states that nothing tells of; a test with a signal, or whose
// goroutines all run in a bubble of synctest, needs none.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after two minutes still not: %s", what)
		}
	}
}
