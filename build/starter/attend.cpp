// One query row of each text attends keys and values in bfloat16. torch's own product of so few rows
// takes ten times as long, and lets every text attend as many positions as the longest.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static const int64_t DIM = 64, GROUPS = 3;  // elements of a head, query heads of a key head
static const int64_t WIDE = 64;             // positions whose scores are held in registers

static inline float wide(uint16_t x) {
    uint32_t bits = uint32_t(x) << 16;
    float y;
    std::memcpy(&y, &bits, 4);
    return y;
}

// Adds up the scores of n <= WIDE positions from k on, for the query heads that share them.
static inline void score(const float *q, const uint16_t *k, int64_t positions, int64_t n, float *scores, int64_t stride) {
    float sums[GROUPS][WIDE] = {{0}};
    if (n == WIDE) {
        for (int64_t d = 0; d < DIM; d++)
            for (int64_t t = 0; t < WIDE; t++) {
                const float key = wide(k[d * positions + t]);
                for (int64_t g = 0; g < GROUPS; g++) sums[g][t] += q[g * DIM + d] * key;
            }
    } else {
        for (int64_t d = 0; d < DIM; d++)
            for (int64_t t = 0; t < n; t++)
                for (int64_t g = 0; g < GROUPS; g++) sums[g][t] += q[g * DIM + d] * wide(k[d * positions + t]);
    }
    for (int64_t g = 0; g < GROUPS; g++)
        for (int64_t t = 0; t < n; t++) scores[g * stride + t] = sums[g][t] * 0.125f;  // 64 ** -0.5
}

// q and out are (texts, heads * GROUPS, DIM) in float32. keys are (texts, heads, DIM, positions), values
// (texts, heads, positions, DIM). Text n has lengths[n] positions, at least 1.
extern "C" void attend(const float *q, const uint16_t *keys, const uint16_t *values, const int64_t *lengths, float *out, int64_t texts,
                       int64_t heads, int64_t positions) {
    std::vector<float> scores(GROUPS * positions);
    for (int64_t n = 0; n < texts; n++) {
        const int64_t length = lengths[n];
        for (int64_t head = 0; head < heads; head++) {
            const uint16_t *k = keys + (n * heads + head) * DIM * positions;
            const uint16_t *v = values + (n * heads + head) * DIM * positions;
            const int64_t row = (n * heads + head) * GROUPS * DIM;
            for (int64_t t = 0; t < length; t += WIDE)
                score(q + row, k + t, positions, std::min(WIDE, length - t), scores.data() + t, positions);
            float scale[GROUPS];
            for (int64_t g = 0; g < GROUPS; g++) {
                float *s = scores.data() + g * positions;
                float most = s[0], sum = 0;
                for (int64_t t = 0; t < length; t++) most = s[t] > most ? s[t] : most;
                for (int64_t t = 0; t < length; t++) sum += s[t] = std::exp(s[t] - most);
                scale[g] = 1 / sum;
            }
            float y[GROUPS][DIM] = {{0}};
            for (int64_t t = 0; t < length; t++)
                for (int64_t d = 0; d < DIM; d++) {
                    const float value = wide(v[t * DIM + d]);
                    for (int64_t g = 0; g < GROUPS; g++) y[g][d] += scores[g * positions + t] * value;
                }
            for (int64_t g = 0; g < GROUPS; g++)
                for (int64_t d = 0; d < DIM; d++) out[row + g * DIM + d] = y[g][d] * scale[g];
        }
    }
}
