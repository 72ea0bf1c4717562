#pragma once

#include "operation_linux.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_matmul makes the array of Scope.TiledMatMul. It returns 0, or 1 after a failure.
int tandem_matmul(mlx_array* out, mlx_array x, mlx_array w, tandem_operation* how);

// tandem_gather_matmul is tandem_matmul for Scope.TiledGatherMM.
int tandem_gather_matmul(mlx_array* out, mlx_array x, mlx_array w, mlx_array chosen,
	tandem_operation* how);

#ifdef __cplusplus
}
#endif
