package disk

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Patience is how long one call to the system may take. A disk that has to spin up first may take
// longer: its folder is refused, and answers when it is asked again.
const Patience = 3 * time.Second

// A SilentError says that a folder does not answer.
type SilentError struct{ Folder string }

func (e *SilentError) Error() string {
	return fmt.Sprintf("%s does not answer; look whether its disk is connected, and try again",
		e.Folder)
}

// silent counts the calls that have not come back, by folder. It is the whole process's, like the
// threads in these calls.
var silent = struct {
	sync.Mutex
	calls map[string]int
}{calls: map[string]int{}}

// await returns what call returns, a call to the system about something in a folder. Error:
// *SilentError if the folder does not answer. The call then goes on without its caller, and what it
// opens is closed.
func await[T any](folder string, call func() (T, error)) (T, error) {
	var none T
	folder = filepath.Clean(folder)
	if at := silentAbove(folder); at != "" {
		return none, &SilentError{at}
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
	}
	count(folder, 1)
	go func() {
		r := <-done
		count(folder, -1)
		if c, ok := any(r.value).(io.Closer); ok && r.err == nil {
			c.Close()
		}
	}()
	return none, &SilentError{folder}
}

// awaitPath is await with the error of an operation on a name.
func awaitPath[T any](op, folder, name string, call func() (T, error)) (T, error) {
	v, err := await(folder, call)
	if err != nil {
		var none T
		return none, pathError(op, name, err)
	}
	return v, nil
}

// silentAbove returns the folder, or one above it, that does not answer; empty if all do.
func silentAbove(folder string) string {
	silent.Lock()
	defer silent.Unlock()
	for at := range silent.calls {
		if folder == at || strings.HasPrefix(folder, strings.TrimSuffix(at, "/")+"/") {
			return at
		}
	}
	return ""
}

// count adds to the calls that have not come back.
func count(folder string, n int) {
	silent.Lock()
	defer silent.Unlock()
	if silent.calls[folder] += n; silent.calls[folder] == 0 {
		delete(silent.calls, folder)
	}
}
