#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "operation_linux.h"

#ifdef __cplusplus
extern "C" {
#endif

// A tandem_packed says how a matrix is packed, see Packed in packed.go.
typedef struct {
	int form; // of the numbers: a row of formats in packed_linux.go
	int scales; // of the groups: 0 float32, 1 float16, 2 bfloat16
	bool biased; // biases are stored; else they are -2^(bits-1) times the scales, or 0 where numbers are floats
	int in, out, first, group; // first: the output of the matrix at which the view of out outputs begins
} tandem_packed;

// tandem_pack makes the array of Packed.Blocks from words (E, out, words) of numbers and of headers, those of biases
// maybe null. Each array has the words of as many headers. halves: a word of scales has two numbers of 16 bits.
int tandem_pack(mlx_array* out, mlx_array scales, mlx_array biases, mlx_array numbers, int headers, bool halves,
	tandem_operation* how);

// tandem_large_bytes returns the bytes of the arrays of tandem_pack, which MLX does not count.
size_t tandem_large_bytes(void);

// tandem_packed_matmul makes the array of Scope.PackedMatMul, or of Scope.PackedGatherMM if chosen is
// not null. It returns 0, or 1 after a failure.
int tandem_packed_matmul(mlx_array* out, mlx_array x, mlx_array blocks, mlx_array chosen,
	tandem_packed form, tandem_operation* how);

// tandem_packed_rows makes the array of Scope.PackedRows.
int tandem_packed_rows(mlx_array* out, mlx_array ids, mlx_array blocks, tandem_packed form,
	tandem_operation* how);

#ifdef __cplusplus
}
#endif
