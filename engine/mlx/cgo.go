package mlx

// The pins of MLX and mlx-c stand in the paths, so that a bump changes the
// flags and Go's build cache notices. `go run ./build setup` makes the folder.
// On Linux OpenBLAS comes before libmlx: both define cblas_sgemm, the first
// one wins, and the wheel's own reference BLAS is an order of magnitude slower.
// On a Mac libmlxc brings libmlx along, and the bundle has another library in its
// place, which brings one of two.

/*
#cgo CFLAGS: -I${SRCDIR}/.deps/0.32.2-0.7.0/include
#cgo LDFLAGS: -L${SRCDIR}/.deps/0.32.2-0.7.0/lib
#cgo linux LDFLAGS: -Wl,--no-as-needed -l:libopenblas.so.0 -lmlxc -lmlx -Wl,--as-needed
#cgo darwin LDFLAGS: -lmlxc
*/
import "C"
