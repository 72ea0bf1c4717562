package mlx

/*
#include <string.h>
#include "mlx/c/mlx.h"

// MLX calls the handler on the thread that made the failing call.
static _Thread_local char tandem_error[2048];

static void tandem_on_error(const char* msg, void* data) {
	(void)data;
	strncpy(tandem_error, msg, sizeof(tandem_error) - 1);
}

static void tandem_install_handler(void) {
	mlx_set_error_handler(tandem_on_error, NULL, NULL);
}

// tandem_take_error copies the message out and forgets it.
static void tandem_take_error(char* dst, size_t n) {
	strncpy(dst, tandem_error, n - 1);
	dst[n - 1] = 0;
	tandem_error[0] = 0;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// An Error is a failure that MLX reports, in its own words.
type Error struct{ Message string }

func (e *Error) Error() string { return "mlx: " + e.Message }

// A PanicError is a panic on the MLX thread, returned by Do.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic on the mlx thread: %v", e.Value) }

// ErrClosed is returned by Do after Close.
var ErrClosed = errors.New("mlx: thread is closed")

// installHandler replaces the handler that ends the process, once for all threads.
var installHandler = sync.OnceFunc(func() { C.tandem_install_handler() })

// check turns a C status into an error, on the thread that made the call.
func check(status C.int) error {
	if status == 0 {
		return nil
	}
	var buf [2048]C.char
	C.tandem_take_error(&buf[0], C.size_t(len(buf)))
	msg := C.GoString(&buf[0])
	// mlx-c appends " at FILE:LINE" of its own sources, which does not help a user.
	if i := strings.LastIndex(msg, " at "); i > 0 && strings.Contains(msg[i:], ".cpp:") {
		msg = msg[:i]
	}
	if msg == "" {
		msg = "call failed without a message"
	}
	return &Error{Message: msg}
}
