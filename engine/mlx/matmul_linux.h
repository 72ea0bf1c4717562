#pragma once

#include <stddef.h>

#include "mlx/c/mlx.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_matmul makes the array of Scope.TiledMatMul. It returns 0, or 1 after a failure, which it
// describes in why, of size bytes.
int tandem_matmul(mlx_array* out, mlx_array x, mlx_array w, mlx_stream stream, char* why,
	size_t size);

// tandem_gather_matmul is tandem_matmul for Scope.TiledGatherMM.
int tandem_gather_matmul(mlx_array* out, mlx_array x, mlx_array w, mlx_array chosen,
	mlx_stream stream, char* why, size_t size);

#ifdef __cplusplus
}
#endif
