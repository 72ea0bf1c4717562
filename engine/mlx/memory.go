package mlx

// #include "mlx/c/mlx.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// Memory holds the bytes of all arrays, including packed matrices, which MLX does not count.
type Memory struct {
	Active    int64 // in arrays
	Peak      int64 // highest Active since the last reset
	MaxActive int64 // highest Active since the thread began
}

// Memory returns the figures as of the end of the last Do. It never waits for the thread.
func (t *Thread) Memory() Memory {
	return Memory{t.active.Load(), t.peak.Load(), t.maxActive.Load()}
}

func (t *Thread) readMemory() {
	var active, peak C.size_t
	if check(C.mlx_get_active_memory(&active)) != nil || check(C.mlx_get_peak_memory(&peak)) != nil ||
		check(C.mlx_reset_peak_memory()) != nil {
		return
	}
	was := t.large
	t.large = largeBytes()
	t.active.Store(int64(active) + t.large)
	highest := int64(max(active, peak)) + max(was, t.large) // since the last reading
	t.peak.Store(max(t.peak.Load(), highest))               // only this thread writes
	t.maxActive.Store(max(t.maxActive.Load(), highest))
}

// Memory returns the current figures (mlx_get_active_memory, mlx_get_peak_memory).
func (s *Scope) Memory() Memory {
	s.t.readMemory()
	return s.t.Memory()
}

// ResetPeak starts a new measurement of Memory.Peak.
func (s *Scope) ResetPeak() {
	s.t.readMemory()
	s.t.peak.Store(s.t.active.Load())
}

// ClearCache returns memory held for reuse to the system (mlx_clear_cache).
func (s *Scope) ClearCache() { s.untimed(C.mlx_clear_cache()) }

// SetMemoryLimit bounds how far the host runs ahead of the device, and returns the old bound in
// bytes (mlx_set_memory_limit). While more bytes than that are active, MLX dispatches the next
// operation only when one in progress has ended. Nothing fails beyond the limit.
func (s *Scope) SetMemoryLimit(bytes int64) (old int64, ok bool) {
	var was C.size_t
	s.untimed(C.mlx_set_memory_limit(&was, C.size_t(bytes)))
	return int64(was), s.err == nil
}

// Wire keeps up to so many bytes of arrays in memory, which the system would otherwise move out
// between requests (mlx_set_wired_limit). It returns the bytes it set: at most the working set that
// the device recommends, because more would fail. On the CPU it wires nothing and returns 0.
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
	var limitBytes, was C.size_t
	if err := check(C.mlx_device_info_get_size(&limitBytes, info, key)); err != nil {
		return 0, err
	}
	limit := min(C.size_t(max(0, bytes)), limitBytes)
	return int64(limit), check(C.mlx_set_wired_limit(&was, limit))
}

// TimeInC returns the time spent inside C calls since TimeC turned the measurement on, zero while
// it is off.
func (s *Scope) TimeInC() time.Duration { return s.t.inC }

// TimeC starts or stops measuring the time spent inside C calls, for benches. It returns the time
// measured since the last TimeC. A caller that times its own graph building subtracts
// Scope.TimeInC.
func (t *Thread) TimeC(ctx context.Context, on bool) (time.Duration, error) {
	var d time.Duration
	err := t.Do(ctx, func(*Scope) error {
		d, t.inC, t.timed = t.inC, 0, on
		return nil
	})
	return d, err
}
