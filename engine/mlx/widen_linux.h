#pragma once

#include "operation_linux.h"

#ifdef __cplusplus
extern "C" {
#endif

// tandem_widen makes the array of Scope.Widen. It returns 0, or 1 after a failure.
int tandem_widen(mlx_array* out, mlx_array x, tandem_operation* how);

#ifdef __cplusplus
}
#endif
