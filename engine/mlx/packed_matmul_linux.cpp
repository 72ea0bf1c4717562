// Products of float32 rows with a matrix that MLX has packed, on the CPU, as an operation of MLX. The
// matrix is read from memory once, in its few bits. Each number is unpacked in a register and
// multiplied with a few rows there. MLX's own product takes one row after the other.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "helpers_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/ops.h"
#include "mlx/primitives.h"
#include "packed_matmul_linux.h"

namespace {

constexpr int lanes = 16; // sums of an output, whatever the processor's vectors hold
constexpr int piece = 32; // outputs that one thread takes at once
constexpr double worthThreads = 1 << 17; // products

// A Matrix is (out, in) in MLX's affine form of 4 or 8 bits. Strides are those of an output: of bytes,
// and of elements.
struct Matrix {
	const uint8_t* words;
	const float *scales, *biases;
	int64_t row, scaleRow, biasRow;
	int in, out, bits, group; // group: elements with one scale, a multiple of 32
};

// A Work is what one thread does at once: all rows times the outputs [first, last).
struct Work {
	const Matrix* matrix;
	const float* x; // (rows, in)
	float* y; // (rows, out)
	int rows, first, last;
};

// Each target has the same kernel, in vectors of L numbers. What it tells the compiler about the
// processor has to stand around the kernel.
namespace plain {
constexpr int L = 4;
#include "packed_kernel_linux.h"
} // namespace plain

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr int L = 8;
#define PACKED_AVX2
#include "packed_kernel_linux.h"
#undef PACKED_AVX2
} // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
namespace avx512 {
constexpr int L = 16;
#define PACKED_AVX512
#include "packed_kernel_linux.h"
#undef PACKED_AVX512
} // namespace avx512
#pragma GCC pop_options
#endif

// multiplyOn returns the function for a target. All of them add in the same order. The plain one may
// round each product before it adds it.
using Multiply = void (*)(const Work&);
Multiply multiplyOn(Target target, int bits) {
#if defined(__x86_64__)
	if (target == Target::AVX512) // which has twice as many registers, of twice the width
		return bits == 4 ? avx512::multiply<4, 2> : avx512::multiply<8, 2>;
	if (target == Target::AVX2)
		return bits == 4 ? avx2::multiply<4, 1> : avx2::multiply<8, 1>;
#endif
	return bits == 4 ? plain::multiply<4, 1> : plain::multiply<8, 1>;
}

namespace core = mlx::core;

class PackedMatMul : public core::Primitive {
public:
	PackedMatMul(core::Stream s, Target t, int threads, int bits, int group)
		: Primitive(s), multiply_(multiplyOn(t, bits)), threads_(threads), bits_(bits), group_(group) {}

	// in: x (rows, in), row by row; w (out, words), scales and biases (out, groups), each output in one
	// piece
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		const core::array &x = in[0], &w = in[1], &scales = in[2], &biases = in[3];
		for (const core::array* a : {&w, &scales, &biases})
			if (a->shape(1) > 1 && a->strides(1) != 1)
				throw std::runtime_error("PackedMatMul takes matrices whose rows lie in one piece each.");
		const Matrix matrix{w.data<uint8_t>(), scales.data<float>(), biases.data<float>(),
			4 * w.strides(0), scales.strides(0), biases.strides(0), x.shape(1), w.shape(0), bits_, group_};
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		const int rows = x.shape(0);
		const float* from = x.data<float>();
		float* to = outs[0].data<float>();
		core::cpu::get_command_encoder(stream()).dispatch([=, multiply = multiply_, threads = threads_] {
			auto work = [&](int i) {
				const int first = i * piece, last = std::min(first + piece, matrix.out);
				multiply({&matrix, from, to, rows, first, last});
			};
			const int pieces = (matrix.out + piece - 1) / piece;
			const bool alone = double(rows) * matrix.in * matrix.out < worthThreads;
			Helpers::all().share(alone ? 1 : threads, pieces, work);
		});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("PackedMatMul is for the CPU.");
	}
	const char* name() const override { return "PackedMatMul"; }

private:
	Multiply multiply_;
	int threads_, bits_, group_;
};

} // namespace

int tandem_packed_matmul(mlx_array* out, mlx_array x, mlx_array w, mlx_array scales,
	mlx_array biases, int bits, int group, tandem_operation* how) {
	const auto rows = core::contiguous(of(x), false, *static_cast<core::Stream*>(how->stream.ctx));
	return make<PackedMatMul>(out, {rows.shape(0), of(w).shape(0)},
		{rows, of(w), of(scales), of(biases)}, how, bits, group);
}
