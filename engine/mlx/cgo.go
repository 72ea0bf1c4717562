package mlx

// The paths contain the pinned versions of MLX and mlx-c, so that a new version changes the flags
// and Go's build cache notices. `go run ./build setup` makes the folder. On Linux OpenBLAS comes
// before libmlx. Both define cblas_sgemm and the first one wins; the wheel's own reference BLAS is
// an order of magnitude slower. On a Mac libmlxc loads libmlx. The bundle has another library in
// its place, which loads one of two builds.

/*
#cgo CFLAGS: -I${SRCDIR}/.deps/0.32.4-0.7.0/include
#cgo LDFLAGS: -L${SRCDIR}/.deps/0.32.4-0.7.0/lib
#cgo linux LDFLAGS: -Wl,--no-as-needed -l:libopenblas.so.0 -lmlxc -lmlx -Wl,--as-needed
#cgo darwin LDFLAGS: -lmlxc
*/
import "C"
