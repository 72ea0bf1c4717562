// Runs the body of a Metal kernel lane by lane. It knows what the bodies of this package use and no more.
//
// simd_sum needs all lanes at one point. A simdgroup is therefore run twice: the first time simd_sum adds up what every lane
// brings to the n-th call, the second time it returns those sums.

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

using uint = uint32_t;
using T = float;

// CONSTANTS

struct { uint x; } threadgroup_position_in_grid;
uint simdgroup_index_in_threadgroup, thread_index_in_simdgroup;

std::vector<float> simd_sums;
size_t simd_calls;
bool simd_summed;

float simd_sum(float v) {
    size_t n = simd_calls++;
    if (simd_summed) return simd_sums.at(n);
    if (n == simd_sums.size()) simd_sums.push_back(0);
    simd_sums[n] += v;
    return v;
}

void body(const float* x, const uint* w, const float* scales, const float* biases, T* out) {
// BODY
}

template <class V> std::vector<V> read(const char* path, size_t n) {
    std::vector<V> v(n);
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(v.data()), n * sizeof(V));
    return v;
}

int main() {
    auto x = read<float>("x", ROWS * IN);
    auto w = read<uint>("w", OUT * IN * BITS / 32);
    auto scales = read<float>("scales", OUT * IN / GROUP), biases = read<float>("biases", OUT * IN / GROUP);
    std::vector<T> out(ROWS * OUT);
    for (uint group = 0; group < (OUT + COLUMNS * SIMDGROUPS - 1) / (COLUMNS * SIMDGROUPS); group++) {
        for (uint simd = 0; simd < SIMDGROUPS; simd++) {
            simd_sums.clear();
            for (int pass = 0; pass < 2; pass++) {
                simd_summed = pass == 1;
                for (uint lane = 0; lane < 32; lane++) {
                    simd_calls = 0;
                    threadgroup_position_in_grid = {group};
                    simdgroup_index_in_threadgroup = simd;
                    thread_index_in_simdgroup = lane;
                    body(x.data(), w.data(), scales.data(), biases.data(), out.data());
                }
            }
        }
    }
    fwrite(out.data(), sizeof(T), out.size(), stdout);
}
