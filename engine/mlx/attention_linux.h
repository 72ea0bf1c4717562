#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mlx/c/mlx.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_attention makes the array of Scope.TiledAttention; mask and sinks may be empty. It returns
// 0, or 1 after a failure, which it describes in why, of size bytes.
int tandem_attention(mlx_array* out, mlx_array q, mlx_array k, mlx_array v, mlx_array mask,
	mlx_array sinks, float scale, bool causal, mlx_stream stream, char* why, size_t size);

#ifdef __cplusplus
}
#endif
