package mlx

// #include "mlx/c/mlx.h"
import "C"

// Version returns the version of the MLX library in this process (mlx_version).
func Version() string {
	str := C.mlx_string_new()
	defer C.mlx_string_free(str)
	if err := check(C.mlx_version(&str)); err != nil {
		return "unknown"
	}
	return C.GoString(C.mlx_string_data(str))
}
