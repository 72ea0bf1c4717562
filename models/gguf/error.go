package gguf

import "fmt"

// A TruncatedError says that a file is shorter than its header says.
type TruncatedError struct{ Missing int64 } // bytes

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the file is cut short: at least %d bytes are missing; download it again",
		e.Missing)
}

// An UnsupportedError names something of a valid file that this program does not compute.
type UnsupportedError struct{ Message string }

func (e *UnsupportedError) Error() string { return e.Message }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// damaged returns the error of a file that contradicts itself.
func damaged(format string, args ...any) error {
	return fmt.Errorf("the GGUF header is damaged: "+format+"; download the file again", args...)
}
