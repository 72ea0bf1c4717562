#pragma once

#include <stddef.h>

#include "mlx/c/mlx.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_multipliers returns how many kernels the processor can run. 0 is the fastest.
int tandem_multipliers(void);

// tandem_matmul makes the array of Scope.TiledMatMul. It returns 0, or 1 after a failure, which it
// describes in why, of size bytes.
int tandem_matmul(mlx_array* out, mlx_array x, mlx_array w, int kernel, mlx_stream stream, char* why,
	size_t size);

// tandem_gather_matmul is tandem_matmul for Scope.TiledGatherMM.
int tandem_gather_matmul(mlx_array* out, mlx_array x, mlx_array w, mlx_array chosen, int kernel,
	mlx_stream stream, char* why, size_t size);

#ifdef __cplusplus
}
#endif
