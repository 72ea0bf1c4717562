#pragma once

#include <stdbool.h>

#include "operation_linux.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_attention_input is what Scope.TiledAttention takes. mask and sinks may be empty.
typedef struct {
	mlx_array q, k, v, mask, sinks;
	float scale;
	bool causal;
} tandem_attention_input;

// tandem_attention makes the array of Scope.TiledAttention. It returns 0, or 1 after a failure.
int tandem_attention(mlx_array* out, const tandem_attention_input* in, tandem_operation* how);

#ifdef __cplusplus
}
#endif
