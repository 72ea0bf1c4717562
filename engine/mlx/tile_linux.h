#pragma once

// Products with a tile of a float32 matrix, which lies in the first cache while all rows pass it. The
// vectors have L numbers; a function for a target inlines what is here.

#include <cstdint>

#include "operation_linux.h"

constexpr int tileOut = 32; // outputs of a tile
constexpr int tileIn = 256; // inputs of a tile, which takes 32 KiB

template <int L>
struct Lanes {
	typedef float floats __attribute__((vector_size(4 * L), aligned(4), may_alias));
	typedef int32_t ints __attribute__((vector_size(4 * L)));
};

// A TileWork is what one thread does at once: rows times the outputs of one tile.
struct TileWork {
	const float* const* x; // of each row
	float* const* y;
	int rows, first, outputs; // first output of the tile, and at most tileOut of them
	int64_t xStride; // of elements
};

// addProducts adds the products of R rows with count inputs of a tile to sums (R, tileOut). Each sum
// grows by one product after the other, however many rows there are. W vectors are summed at once.
template <int L, int W, int R>
INLINE void addProducts(const TileWork& w, int row, int from, int count, const float* tile,
	float* sums) {
	using floats = typename Lanes<L>::floats;
	const float* x[R];
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
		x[r] = w.x[row + r] + from * w.xStride;
	for (int o = 0; o < tileOut; o += W * L) {
		floats sum[R][W];
#pragma GCC unroll 8
		for (int r = 0; r < R; r++)
#pragma GCC unroll 4
			for (int i = 0; i < W; i++)
				sum[r][i] = *(const floats*)(sums + r * tileOut + o + i * L);
		for (int k = 0; k < count; k++) {
			floats m[W];
#pragma GCC unroll 4
			for (int i = 0; i < W; i++)
				m[i] = *(const floats*)(tile + k * tileOut + o + i * L);
#pragma GCC unroll 8
			for (int r = 0; r < R; r++) {
				floats a = x[r][k * w.xStride] - floats{}; // see all in power_linux.h
#pragma GCC unroll 4
				for (int i = 0; i < W; i++)
					sum[r][i] += a * m[i];
			}
		}
#pragma GCC unroll 8
		for (int r = 0; r < R; r++)
#pragma GCC unroll 4
			for (int i = 0; i < W; i++)
				*(floats*)(sums + r * tileOut + o + i * L) = sum[r][i];
	}
}

// addRows is addProducts for all rows of w and a tile whose inputs begin at from. y holds the sums so
// far, unless from is 0.
template <int L, int W, int R>
INLINE void addRows(const TileWork& w, int& row, int from, int count, const float* tile) {
	alignas(64) float sums[R * tileOut];
	for (; row + R <= w.rows; row += R) {
		for (int r = 0; r < R; r++)
			for (int o = 0; o < tileOut; o++)
				sums[r * tileOut + o] = from > 0 && o < w.outputs ? w.y[row + r][w.first + o] : 0;
		addProducts<L, W, R>(w, row, from, count, tile, sums);
		for (int r = 0; r < R; r++)
			for (int o = 0; o < w.outputs; o++)
				w.y[row + r][w.first + o] = sums[r * tileOut + o];
	}
}

// addTile adds the products of all rows with the inputs [from, from + count), which the tile holds
// as (count, tileOut). Registers hold R rows of W vectors of sums.
template <int L, int W, int R>
INLINE void addTile(const TileWork& w, int from, int count, const float* tile) {
	int row = 0;
	addRows<L, W, R>(w, row, from, count, tile);
	addRows<L, W, 2>(w, row, from, count, tile);
	addRows<L, W, 1>(w, row, from, count, tile);
}
