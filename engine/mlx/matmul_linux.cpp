// Products in float32 on the CPU, as operations of MLX. A tile of the matrix is turned once and lies
// in the first cache while all rows pass it. So a matrix is read from memory once. OpenBLAS packs
// all of it before it multiplies a few rows, and its sums depend on the number of rows.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "matmul_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "helpers_linux.h"

namespace {

constexpr int tileOut = 32; // outputs of a tile
constexpr int tileIn = 256; // inputs of a tile, which takes 32 KiB
constexpr double worthThreads = 1 << 17; // products

template <int L>
struct Lanes {
	typedef float floats __attribute__((vector_size(4 * L), aligned(4), may_alias));
	typedef int32_t ints __attribute__((vector_size(4 * L)));
};

// A Matrix is (in, out). Strides are in elements.
struct Matrix {
	const float* data;
	int64_t in, out;
};

// A Work is what one thread does at once: rows times the outputs of one tile.
struct Work {
	const float* matrix; // at the first output of the tile
	const float* const* x; // of each row
	float* const* y;
	int rows, first, outputs, in; // first output of the tile, and at most tileOut of them
	int64_t inStride, outStride, xStride; // of elements
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

// addProducts adds the products of R rows with count inputs of a tile to sums (R, tileOut). Each sum
// grows by one product after the other, however many rows there are. W vectors are summed at once.
template <int L, int W, int R>
INLINE void addProducts(const Work& w, int row, int from, int count, const float* tile,
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
				floats a = floats{} + x[r][k * w.xStride];
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
INLINE void addRows(const Work& w, int& row, int from, int count, const float* tile) {
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

template <int L, int W, int R>
INLINE void multiply(const Work& w) {
	alignas(64) float tile[tileIn * tileOut];
	for (int from = 0; from < w.in; from += tileIn) {
		const int count = w.in - from < tileIn ? w.in - from : tileIn;
		turnTile<L>(w, from, count, tile);
		int row = 0;
		addRows<L, W, R>(w, row, from, count, tile);
		addRows<L, W, 2>(w, row, from, count, tile);
		addRows<L, W, 1>(w, row, from, count, tile);
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

// A Product multiplies rows with the matrices of a stack, each with one of them.
struct Product {
	Matrix matrix; // the first one
	int64_t matrixStride;
	int in, out;
	int64_t xStride;
	std::vector<const float*> x; // of each row
	std::vector<float*> y;
	std::vector<int> ends; // of each matrix, after its last row
	Multiply multiply;
	int threads; // that may share the work

	// multiplyAll does the work on several threads if there is enough. What a row gets does not depend
	// on how the work is divided.
	void multiplyAll() const noexcept {
		const int tiles = (out + tileOut - 1) / tileOut, matrices = ends.size();
		auto work = [&](int i) {
			const int m = i / tiles, o = i % tiles * tileOut, begin = m > 0 ? ends[m - 1] : 0;
			if (begin == ends[m])
				return;
			multiply({matrix.data + m * matrixStride + o * matrix.out, &x[begin], &y[begin],
				ends[m] - begin, o, out - o < tileOut ? out - o : tileOut, in, matrix.in, matrix.out,
				xStride});
		};
		if (double(x.size()) * in * out < worthThreads)
			for (int i = 0; i < tiles * matrices; i++)
				work(i);
		else
			Helpers::all().share(threads, tiles * matrices, work);
	}
};

class TiledMatMul : public core::Primitive {
public:
	TiledMatMul(core::Stream s, Target t, int threads)
		: Primitive(s), multiply_(multiplyOn(t)), threads_(threads) {}

	// in: x (rows, in), w (in, out)
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		const core::array &x = in[0], &w = in[1];
		auto p = std::make_shared<Product>();
		p->multiply = multiply_, p->threads = threads_;
		const int rows = x.shape(0);
		p->matrix = {w.data<float>(), w.strides(0), w.strides(1)};
		p->in = w.shape(0), p->out = w.shape(1), p->xStride = x.strides(1);
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		p->ends = {rows};
		for (int r = 0; r < rows; r++) {
			p->x.push_back(x.data<float>() + r * x.strides(0));
			p->y.push_back(outs[0].data<float>() + int64_t(r) * p->out);
		}
		core::cpu::get_command_encoder(stream()).dispatch([p] { p->multiplyAll(); });
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("TiledMatMul is for the CPU.");
	}
	const char* name() const override { return "TiledMatMul"; }

private:
	Multiply multiply_;
	int threads_;
};

class TiledGatherMM : public core::Primitive {
public:
	TiledGatherMM(core::Stream s, Target t, int threads)
		: Primitive(s), multiply_(multiplyOn(t)), threads_(threads) {}

	// in: x (n, k or 1, 1, in), w (E, in, out), chosen (n, k) of 32-bit integers below E
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		const core::array &x = in[0], &w = in[1], &chosen = in[2];
		const int n = chosen.shape(0), k = chosen.shape(1), matrices = w.shape(0);
		auto p = std::make_shared<Product>();
		p->multiply = multiply_, p->threads = threads_;
		p->matrix = {w.data<float>(), w.strides(1), w.strides(2)};
		p->matrixStride = w.strides(0);
		p->in = w.shape(1), p->out = w.shape(2), p->xStride = x.strides(3);
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		// All memory is taken here. On MLX's thread a lack of it would end the program.
		p->x.resize(int64_t(n) * k), p->y.resize(int64_t(n) * k), p->ends.resize(matrices + 1);
		const float* rows = x.data<float>();
		const int64_t row = x.strides(0), own = x.shape(1) == 1 ? 0 : x.strides(1);
		float* y = outs[0].data<float>();
		const uint32_t* ids = chosen.data<uint32_t>();
		const int64_t idRow = chosen.strides(0), id = chosen.strides(1);
		core::cpu::get_command_encoder(stream()).dispatch([=] {
			// Rows are sorted by their matrix, by counting.
			auto& ends = p->ends;
			for (int i = 0; i < n; i++)
				for (int j = 0; j < k; j++)
					ends[ids[i * idRow + j * id] + 1]++;
			for (int m = 0; m < matrices; m++)
				ends[m + 1] += ends[m];
			for (int i = 0; i < n; i++)
				for (int j = 0; j < k; j++) {
					int at = ends[ids[i * idRow + j * id]]++;
					p->x[at] = rows + i * row + j * own;
					p->y[at] = y + (int64_t(i) * k + j) * p->out;
				}
			ends.pop_back(); // each matrix's beginning has become its end
			p->multiplyAll();
		});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("TiledGatherMM is for the CPU.");
	}
	const char* name() const override { return "TiledGatherMM"; }

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
	return make<TiledGatherMM>(out, {of(chosen).shape(0), of(chosen).shape(1), 1, of(w).shape(2)},
		{of(x), of(w), of(chosen)}, how);
}
