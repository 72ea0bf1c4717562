// The kernel of fused_linux.cpp, which includes it once for each target.

#include "power_linux.h"

// normalize scales a row, by weight too unless that is null. The squares are summed in lanes sums.
void normalize(const float* x, const float* weight, float eps, int64_t n, float* y) {
	floats sums[lanes / L]{};
	int64_t i = 0;
	for (; i + lanes <= n; i += lanes)
#pragma GCC unroll 2
		for (int l = 0; l < lanes / L; l++) {
			const floats v = *(const floats*)(x + i + l * L);
			sums[l] += v * v;
		}
	float sum = 0;
	for (; i < n; i++)
		sum += x[i] * x[i];
	for (int l = 0; l < lanes; l++)
		sum += sums[l / L][l % L];
	const float factor = 1 / std::sqrt(sum / n + eps);
	for (i = 0; i + L <= n; i += L) {
		floats v = *(const floats*)(x + i) * factor;
		if (weight != nullptr)
			v *= *(const floats*)(weight + i);
		*(floats*)(y + i) = v;
	}
	for (; i < n; i++)
		y[i] = weight != nullptr ? x[i] * factor * weight[i] : x[i] * factor;
}

// rotate turns the first dims elements of a row, of which one half is turned against the other.
void rotate(const float* x, const float* cos, const float* sin, int64_t dims, int64_t n, float* y) {
	const int64_t half = dims / 2;
	for (int64_t i = 0; i < half; i++) {
		y[i] = x[i] * cos[i] + x[half + i] * sin[i];
		y[half + i] = x[half + i] * cos[half + i] + x[i] * sin[half + i];
	}
	for (int64_t i = dims; i < n; i++)
		y[i] = x[i];
}

// gate computes n elements of a gate.
void gate(const float* x, float a, float b, int64_t n, float* y) {
	for (int64_t i = 0; i < n; i += L) {
		floats g{}, up{};
		const int64_t count = std::min<int64_t>(L, n - i);
		if (count == L)
			g = *(const floats*)(x + i), up = *(const floats*)(x + n + i);
		else
			for (int l = 0; l < count; l++)
				g[l] = x[i + l], up[l] = x[n + i + l];
		const floats exponent = (g * g * b + a) * g, most = floats{} + 127.0f;
		const floats v = g * up / (power(exponent > most ? most : exponent) + 1.0f);
		if (count == L)
			*(floats*)(y + i) = v;
		else
			for (int l = 0; l < count; l++)
				y[i + l] = v[l];
	}
}

constexpr Kernel kernel{normalize, rotate, gate};
