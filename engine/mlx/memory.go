package mlx

// #include "mlx/c/mlx.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// Memory holds MLX's own figures in bytes.
type Memory struct {
	Active int64 // in arrays
	Cache  int64 // freed, held for reuse
	Peak   int64 // highest Active since the last reset
	Most   int64 // highest Active since the thread began
}

// Memory returns the figures as of the end of the last Do. It never waits.
func (t *Thread) Memory() Memory {
	return Memory{Active: t.active.Load(), Cache: t.cached.Load(), Peak: t.peak.Load(), Most: t.most.Load()}
}

func (t *Thread) readMemory() {
	var n C.size_t
	if check(C.mlx_get_active_memory(&n)) == nil {
		t.active.Store(int64(n))
	}
	if check(C.mlx_get_cache_memory(&n)) == nil {
		t.cached.Store(int64(n))
	}
	if check(C.mlx_get_peak_memory(&n)) == nil {
		t.peak.Store(int64(n))
		t.most.Store(max(t.most.Load(), int64(n))) // only this thread writes
	}
}

// Memory returns the figures at this moment.
func (s *Scope) Memory() Memory {
	s.t.readMemory()
	return s.t.Memory()
}

// ResetPeak starts a new measurement of Memory.Peak.
func (s *Scope) ResetPeak() {
	s.t.readMemory() // for Memory.Most
	s.untimed(C.mlx_reset_peak_memory())
}

// ClearCache gives memory held for reuse back to the system.
func (s *Scope) ClearCache() { s.untimed(C.mlx_clear_cache()) }

// SetMemoryLimit bounds how far the host runs ahead of the device and returns
// the old bound: while more bytes than that are active, the next operation is
// dispatched only when one in progress has ended. Nothing fails beyond it.
func (s *Scope) SetMemoryLimit(bytes int64) (old int64, ok bool) {
	var was C.size_t
	s.untimed(C.mlx_set_memory_limit(&was, C.size_t(bytes)))
	return int64(was), s.err == nil
}

// Wire lets so many bytes of arrays stay in memory, where the system would move
// them out between requests, and returns how many it may be: the device recommends
// a limit, beyond which it would fail. On the CPU nothing is wired, and it is 0.
func (s *Scope) Wire(bytes int64) (int64, error) {
	if !s.t.gpu {
		return 0, nil
	}
	gpu := C.mlx_device_new_type(C.MLX_GPU, 0)
	defer C.mlx_device_free(gpu)
	info := C.mlx_device_info_new()
	defer C.mlx_device_info_free(info)
	if err := check(C.mlx_device_info_get(&info, gpu)); err != nil {
		return 0, err
	}
	key := C.CString("max_recommended_working_set_size")
	defer C.free(unsafe.Pointer(key))
	var most, was C.size_t
	if err := check(C.mlx_device_info_get_size(&most, info, key)); err != nil {
		return 0, err
	}
	limit := min(C.size_t(max(0, bytes)), most)
	return int64(limit), check(C.mlx_set_wired_limit(&was, limit))
}

// TimeInC returns the time spent inside C calls since TimeC turned the
// measurement on; zero while it is off.
func (s *Scope) TimeInC() time.Duration { return s.t.inC }

// TimeC starts or stops measuring the time spent inside C calls, for benches,
// and returns what was measured since the last call. While it is on, times
// that callers take around graph building can leave C out (Scope.TimeInC).
func (t *Thread) TimeC(ctx context.Context, on bool) (time.Duration, error) {
	var d time.Duration
	err := t.Do(ctx, func(*Scope) error {
		d, t.inC, t.timed = t.inC, 0, on
		return nil
	})
	return d, err
}
