#pragma once

#include "operation_linux.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_rms_norm makes the array of Scope.FusedRMSNorm. weight may be null.
int tandem_rms_norm(mlx_array* out, mlx_array x, mlx_array weight, float eps, tandem_operation* how);

// tandem_rotate makes the array of Scope.Rotate.
int tandem_rotate(mlx_array* out, mlx_array x, mlx_array cos, mlx_array sin, tandem_operation* how);

// tandem_rotated_heads makes the three arrays of Scope.RotatedHeads. norm may be null, cos and sin both.
enum { tandem_max_head = 512 }; // elements
typedef struct {
	mlx_array x, norm, cos, sin;
	float eps;
	int queries, keys, dim; // heads, and their elements
} tandem_heads;
int tandem_rotated_heads(mlx_array out[3], const tandem_heads* heads, tandem_operation* how);

// tandem_gated makes the array of Scope.Gated: the gate times up, over 1 + 2^(gate (a + b gate^2)).
int tandem_gated(mlx_array* out, mlx_array x, float a, float b, tandem_operation* how);

#ifdef __cplusplus
}
#endif
