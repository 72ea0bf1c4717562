package enginetest

import (
	"encoding/json"
	"sync"
	"syscall"
	"testing"
	"time"
)

// meter says what the seconds of this process are charged to. A process has one count of them, so
// there is one meter.
var meter struct {
	sync.Mutex
	t         testing.TB // nil: to nothing
	modelType string
	since     time.Duration // processor time of the process
}

// Charge charges the processor time from here on to a model_type, up to the next call or the end of
// the test. It logs the time in a line that `go run ./build test` adds up. RecordedModel calls it.
// The start of a process of Bit is charged to the first model there.
func Charge(t testing.TB, modelType string) {
	t.Helper()
	meter.Lock()
	defer meter.Unlock()
	logCost(t)
	meter.t, meter.modelType = t, modelType
	t.Cleanup(func() {
		meter.Lock()
		defer meter.Unlock()
		if meter.t == t {
			logCost(t)
		}
	})
}

// logCost ends what Charge began, if anything.
func logCost(t testing.TB) {
	t.Helper()
	now := processorTime(t)
	if meter.t != nil {
		meter.t.Logf("cost of %s: %.3f s", meter.modelType, (now - meter.since).Seconds())
		meter.t, meter.since = nil, now
	} else if meter.since > 0 || !InBit() {
		meter.since = now
	}
}

// processorTime returns what this process took so far on all cores, with the processes that it
// started and that ended.
func processorTime(t testing.TB) (all time.Duration) {
	t.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}

// modelTypeOf returns the model_type of a config.json.
func modelTypeOf(t testing.TB, text []byte) string {
	t.Helper()
	var config struct {
		ModelType string `json:"model_type"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.ModelType
}
