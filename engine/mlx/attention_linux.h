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
	int values; // elements of a value
	int bits; // of an element of packed keys and values; 0 = they are not packed
	int key_group, value_group; // elements of a packed row that share a scale and a bias
} tandem_attention_input;

// tandem_attention makes the array of Scope.TiledAttention. It returns 0, or 1 after a failure.
int tandem_attention(mlx_array* out, const tandem_attention_input* in, tandem_operation* how);

#ifdef __cplusplus
}
#endif
