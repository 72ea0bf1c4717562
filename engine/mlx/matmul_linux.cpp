// Products in float32 on the CPU, as operations of MLX. A tile of the matrix is turned once and lies
// in the first cache while all rows pass it. So a matrix is read from memory once. OpenBLAS packs
// all of it before it multiplies a few rows, and its sums depend on the number of rows.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "matmul_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "stack_linux.h"
#include "tile_linux.h"

namespace {

// A Matrix is (in, out). Strides are in elements.
struct Matrix {
	const float* data;
	int64_t in, out;
};

// A Work is a TileWork with the matrix at the first output of the tile.
struct Work : TileWork {
	const float* matrix;
	int in;
	int64_t inStride, outStride; // of elements
};

// swapHalves does one of the log2 L steps that turn a square of L rows.
template <int L, int H>
INLINE void swapHalves(typename Lanes<L>::floats* v) {
	using ints = typename Lanes<L>::ints;
	ints first{}, second{};
#pragma GCC unroll 16
	for (int i = 0; i < L; i++) {
		first[i] = i & H ? L + i - H : i;
		second[i] = i & H ? L + i : i + H;
	}
#pragma GCC unroll 16
	for (int i = 0; i < L; i++)
		if (!(i & H)) {
			auto a = v[i], b = v[i + H];
			v[i] = __builtin_shuffle(a, b, first);
			v[i + H] = __builtin_shuffle(a, b, second);
		}
	if constexpr (2 * H < L)
		swapHalves<L, 2 * H>(v);
}

// turnTile writes the inputs [from, from + count) of a tile, as (count, tileOut). Outputs that the
// matrix does not have are 0.
template <int L>
INLINE void turnTile(const Work& w, int from, int count, float* tile) {
	using floats = typename Lanes<L>::floats;
	for (int o = 0; o < tileOut; o += L) {
		const float* m = w.matrix + o * w.outStride + from * w.inStride;
		int k = 0;
		if (w.inStride == 1 && o + L <= w.outputs)
			for (; k + L <= count; k += L) {
				floats v[L];
#pragma GCC unroll 16
				for (int i = 0; i < L; i++)
					v[i] = *(const floats*)(m + i * w.outStride + k);
				swapHalves<L, 1>(v);
#pragma GCC unroll 16
				for (int i = 0; i < L; i++)
					*(floats*)(tile + (k + i) * tileOut + o) = v[i];
			}
		for (; k < count; k++)
			for (int i = 0; i < L; i++)
				tile[k * tileOut + o + i] =
					o + i < w.outputs ? m[i * w.outStride + k * w.inStride] : 0;
	}
}

template <int L, int W, int R>
INLINE void multiply(const Work& w) {
	alignas(64) float tile[tileIn * tileOut];
	for (int from = 0; from < w.in; from += tileIn) {
		const int count = w.in - from < tileIn ? w.in - from : tileIn;
		turnTile<L>(w, from, count, tile);
		addTile<L, W, R>(w, from, count, tile);
	}
}

// Registers hold R rows of W vectors of sums.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) void multiplyAVX512(const Work& w) { multiply<16, 2, 8>(w); }
__attribute__((target("avx2,fma"))) void multiplyAVX2(const Work& w) { multiply<8, 2, 4>(w); }
#endif
void multiplyPlainly(const Work& w) { multiply<4, 2, 4>(w); }

// multiplyOn returns the function for a target. All of them add in the same order. The plain one may
// round each product before it adds it.
using Multiply = void (*)(const Work&);
Multiply multiplyOn(Target target) {
#if defined(__x86_64__)
	if (target == Target::AVX512)
		return multiplyAVX512;
	if (target == Target::AVX2)
		return multiplyAVX2;
#endif
	return multiplyPlainly;
}

namespace core = mlx::core;

// A Product multiplies the rows of a stack, each with the matrix that it goes to.
struct Product {
	Stack stack;
	Matrix matrix; // the first one
	int64_t matrixStride;
	int in, out;
	Multiply multiply;
	int threads; // that may share the work

	// multiplyAll does the work on several threads if there is enough. What a row gets does not depend
	// on how the work is divided.
	void multiplyAll() const noexcept {
		const int tiles = (out + tileOut - 1) / tileOut;
		auto work = [&](int i) {
			const int m = i / tiles, first = i % tiles * tileOut, begin = stack.begin(m);
			const int rows = stack.ends[m] - begin;
			if (rows > 0)
				multiply({{&stack.x[begin], &stack.y[begin], rows, first, std::min(out - first, tileOut),
							  stack.xStride},
					matrix.data + m * matrixStride + first * matrix.out, in, matrix.in, matrix.out});
		};
		stack.share(threads, double(in) * out, tiles, work);
	}
};

class TiledMatMul : public core::Primitive {
public:
	TiledMatMul(core::Stream s, Target t, int threads)
		: Primitive(s), multiply_(multiplyOn(t)), threads_(threads) {}

	// in: x (rows, in), w (in, out); or x (n, k or 1, 1, in), w (E, in, out), chosen (n, k)
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		const core::array& w = in[1];
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		const int axis = w.ndim() - 2;
		// All memory is taken here. On MLX's thread a lack of it would end the program.
		auto p = std::make_shared<Product>(Product{
			in.size() == 2 ? Stack(in[0], outs[0]) : Stack(in[0], in[2], w.shape(0), outs[0]),
			{w.data<float>(), w.strides(axis), w.strides(axis + 1)}, w.strides(0), w.shape(axis),
			w.shape(axis + 1), multiply_, threads_});
		core::cpu::get_command_encoder(stream()).dispatch([p] {
			p->stack.sort();
			p->multiplyAll();
		});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("TiledMatMul is for the CPU.");
	}
	const char* name() const override { return "TiledMatMul"; }

private:
	Multiply multiply_;
	int threads_;
};

} // namespace

int tandem_targets(void) { return targets().size(); }

int tandem_matmul(mlx_array* out, mlx_array x, mlx_array w, tandem_operation* how) {
	return make<TiledMatMul>(out, {of(x).shape(0), of(w).shape(1)}, {of(x), of(w)}, how);
}

int tandem_gather_matmul(mlx_array* out, mlx_array x, mlx_array w, mlx_array chosen,
	tandem_operation* how) {
	return make<TiledMatMul>(out, {of(chosen).shape(0), of(chosen).shape(1), 1, of(w).shape(2)},
		{of(x), of(w), of(chosen)}, how);
}
