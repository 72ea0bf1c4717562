package main

/*
#include <dispatch/dispatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static const unsigned long all_levels = DISPATCH_MEMORYPRESSURE_NORMAL |
	DISPATCH_MEMORYPRESSURE_WARN | DISPATCH_MEMORYPRESSURE_CRITICAL;

struct pressure_watch {
	dispatch_source_t source;
	int to; // end of a pipe
};

// pressure_changed writes the level into the pipe. Levels change seldom, so the pipe is hardly ever
// full. If it is, the level is lost, since the write does not wait.
static void pressure_changed(void *context) {
	struct pressure_watch *w = context;
	unsigned char level = (unsigned char)dispatch_source_get_data(w->source);
	ssize_t written = write(w->to, &level, 1);
	(void)written;
}

// pressure_ended runs after the last pressure_changed.
static void pressure_ended(void *context) {
	struct pressure_watch *w = context;
	close(w->to);
	dispatch_release(w->source);
	free(w);
}

static void *pressure_begin(int to) {
	struct pressure_watch *w = malloc(sizeof *w);
	if (w == NULL)
		return NULL;
	dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_MEMORYPRESSURE,
		0, all_levels, dispatch_get_global_queue(0, 0));
	if (source == NULL) {
		free(w);
		return NULL;
	}
	w->source = source;
	w->to = to;
	dispatch_set_context(source, w);
	dispatch_source_set_event_handler_f(source, pressure_changed);
	dispatch_source_set_cancel_handler_f(source, pressure_ended);
	dispatch_resume(source);
	return w;
}

static void pressure_end(void *watch) {
	dispatch_source_cancel(((struct pressure_watch *)watch)->source);
}
*/
import "C"

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"tandem/app/home"
)

// levelOf returns the level of a number of the system's, as a dispatch source and
// kern.memorystatus_vm_pressure_level have it: 1, 2 or 4.
func levelOf(n uint32) home.Pressure {
	switch {
	case n&4 != 0:
		return home.PressureCritical
	case n&2 != 0:
		return home.PressureWarning
	}
	return home.PressureNormal
}

// pressure is a dispatch source of the kind DISPATCH_SOURCE_TYPE_MEMORYPRESSURE. It tells changes
// alone, so that the first level comes from the kernel's variable.
var pressure home.PressureSource = func(ctx context.Context, say func(home.Pressure)) error {
	from, to, err := pipe()
	if err != nil {
		return err
	}
	levels := os.NewFile(uintptr(from), "levels of memory pressure")
	defer levels.Close()
	watch := C.pressure_begin(C.int(to))
	if watch == nil {
		return errors.Join(errors.New("the system makes no source of memory pressure"),
			syscall.Close(to))
	}
	defer context.AfterFunc(ctx, func() { C.pressure_end(watch) })()
	if now, err := unix.SysctlUint32("kern.memorystatus_vm_pressure_level"); err == nil {
		say(levelOf(now))
	}
	for level := make([]byte, 1); ; { // until the end of the watch closes the pipe
		if n, err := levels.Read(level); n == 0 || err != nil {
			return nil
		}
		say(levelOf(uint32(level[0])))
	}
}

// pipe makes a pipe whose writes do not wait. No child inherits it, because a child would keep it
// open.
func pipe() (from, to int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		return 0, 0, err
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	if err := syscall.SetNonblock(ends[1], true); err != nil {
		return 0, 0, errors.Join(err, syscall.Close(ends[0]), syscall.Close(ends[1]))
	}
	return ends[0], ends[1], nil
}
