#pragma once

#include "operation_linux.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_packed_matmul makes the array of Scope.PackedMatMul. It returns 0, or 1 after a failure.
int tandem_packed_matmul(mlx_array* out, mlx_array x, mlx_array w, mlx_array scales,
	mlx_array biases, int bits, int group, tandem_operation* how);

#ifdef __cplusplus
}
#endif
