//go:build !bundle

package mlx

// Development builds find the libraries in the source tree; the bundle sets its own rpath.

/*
#cgo LDFLAGS: -Wl,-rpath,${SRCDIR}/.deps/0.32.4-0.7.0/lib
*/
import "C"
