#pragma once

#include "operation_linux.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_rms_norm makes the array of Scope.FusedRMSNorm. weight may be null.
int tandem_rms_norm(mlx_array* out, mlx_array x, mlx_array weight, float eps, tandem_operation* how);

// tandem_rotate makes the array of Scope.Rotate.
int tandem_rotate(mlx_array* out, mlx_array x, mlx_array cos, mlx_array sin, tandem_operation* how);

// tandem_gated makes the array of Scope.Gated: the gate times up, over 1 + 2^(gate (a + b gate^2)).
int tandem_gated(mlx_array* out, mlx_array x, float a, float b, tandem_operation* how);

#ifdef __cplusplus
}
#endif
