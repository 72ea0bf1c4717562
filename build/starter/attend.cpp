// One query row of each text attends keys and values in bfloat16. torch's own product of so few rows
// takes three times as long, and lets every text attend as many positions as the longest.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static inline float wide(uint16_t x) {
    uint32_t bits = uint32_t(x) << 16;
    float y;
    std::memcpy(&y, &bits, 4);
    return y;
}

// q and out are (texts, heads * groups, 64) in float32. keys are (texts, heads, 64, positions), values
// (texts, heads, positions, 64). Text n has lengths[n] positions, at least 1.
extern "C" void attend(const float *q, const uint16_t *keys, const uint16_t *values, const int64_t *lengths, float *out, int64_t texts,
                       int64_t heads, int64_t groups, int64_t positions) {
    const int64_t dim = 64;
    std::vector<float> scores(positions);
    float *s = scores.data();
    for (int64_t n = 0; n < texts; n++) {
        const int64_t length = lengths[n];
        for (int64_t head = 0; head < heads; head++) {
            const uint16_t *k = keys + (n * heads + head) * dim * positions;
            const uint16_t *v = values + (n * heads + head) * dim * positions;
            for (int64_t g = 0; g < groups; g++) {
                const int64_t row = ((n * heads + head) * groups + g) * dim;
                for (int64_t t = 0; t < length; t++) s[t] = 0;
                for (int64_t d = 0; d < dim; d++) {
                    const float x = q[row + d] * 0.125f;  // 64 ** -0.5
                    for (int64_t t = 0; t < length; t++) s[t] += x * wide(k[d * positions + t]);
                }
                float most = s[0], sum = 0;
                for (int64_t t = 0; t < length; t++) most = s[t] > most ? s[t] : most;
                for (int64_t t = 0; t < length; t++) sum += s[t] = std::exp(s[t] - most);
                float y[dim] = {0};
                for (int64_t t = 0; t < length; t++)
                    for (int64_t d = 0; d < dim; d++) y[d] += s[t] * wide(v[t * dim + d]);
                for (int64_t d = 0; d < dim; d++) out[row + d] = y[d] / sum;
            }
        }
    }
}
