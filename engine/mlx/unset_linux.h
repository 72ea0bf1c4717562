#pragma once

#include <stddef.h>

#include "mlx/c/mlx.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_new_unset makes an array on the CPU whose memory nobody has written yet, and points data
// to it. It returns 0, or 1 after a failure, which it describes in why, of size bytes.
int tandem_new_unset(mlx_array* out, const int* shape, int dim, mlx_dtype dtype, void** data,
	char* why, size_t size);

#ifdef __cplusplus
}
#endif
