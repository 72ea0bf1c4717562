// Products of a few rows with a packed matrix (MLX's affine packing), in the
// Metal shading language: out (ROWS, OUT) = x (ROWS, IN) times w^T.
//
// A simdgroup computes COLUMNS outputs of every row. Its lanes share the
// inputs: each takes every 32nd word of the matrix's rows, unpacks it once and
// multiplies it with all rows of x. So the matrix, which is what a decode step
// waits for, is read once for all rows of a verify block.

const uint PACK = 32 / BITS; // weights in a word
const uint WORDS = IN / PACK;
const uint GROUPS = IN / GROUP;

const uint first = threadgroup_position_in_grid.x * (SIMDGROUPS * COLUMNS) + simdgroup_index_in_threadgroup * COLUMNS;
if (first >= OUT) {
    return;
}

float sums[COLUMNS][ROWS];
for (uint c = 0; c < COLUMNS; c++) {
    for (uint r = 0; r < ROWS; r++) {
        sums[c][r] = 0;
    }
}
for (uint word = thread_index_in_simdgroup; word < WORDS; word += 32) {
    const uint k = word * PACK;
    float weights[COLUMNS][32 / BITS];
    for (uint c = 0; c < COLUMNS; c++) {
        const uint packed = w[(first + c) * WORDS + word];
        const float scale = scales[(first + c) * GROUPS + k / GROUP];
        const float bias = biases[(first + c) * GROUPS + k / GROUP];
        for (uint j = 0; j < PACK; j++) {
            weights[c][j] = scale * float((packed >> (BITS * j)) & ((1u << BITS) - 1)) + bias;
        }
    }
    for (uint r = 0; r < ROWS; r++) {
        for (uint j = 0; j < PACK; j++) {
            const float value = x[r * IN + k + j];
            for (uint c = 0; c < COLUMNS; c++) {
                sums[c][r] += value * weights[c][j];
            }
        }
    }
}
for (uint c = 0; c < COLUMNS; c++) {
    for (uint r = 0; r < ROWS; r++) {
        const float sum = simd_sum(sums[c][r]);
        if (thread_index_in_simdgroup == 0) {
            out[r * OUT + first + c] = T(sum);
        }
    }
}
