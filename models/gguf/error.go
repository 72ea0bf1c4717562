package gguf

import (
	"errors"
	"fmt"
)

// ErrFormat says that a file does not begin as GGUF files do.
var ErrFormat = errors.New("is no GGUF file, though it is named as one; name another file, or download it again")

// A TruncatedError says that a file is shorter than its header says.
type TruncatedError struct{ Missing int64 } // bytes

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the file is cut short: it lacks at least %d of its bytes; download it again",
		e.Missing)
}

// An UnsupportedError names a part of a valid file that this program does not support.
type UnsupportedError struct{ Message string }

func (e *UnsupportedError) Error() string { return e.Message }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// lacking returns the error of a file whose metadata has no such key.
func lacking(key string) error {
	return fmt.Errorf("its metadata lacks %s; download the file again or take another one", key)
}

// damaged returns the error of a file that contradicts itself.
func damaged(format string, args ...any) error {
	return fmt.Errorf("the GGUF header is damaged: "+format+"; download the file again", args...)
}
