// Products of float32 rows with a matrix that stays packed, on the CPU, as operations of MLX. Decoding
// reads all weights for each token, so the bytes of the matrix are its time. MLX's own product takes
// one row after the other, and one thread.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "packed_linux.h"
#include "stack_linux.h"
#include "tile_linux.h"

namespace {

constexpr int lanes = 16; // outputs of a tile, which a word each holds a number of
constexpr int pieceTiles = 4; // that one thread takes at once
constexpr int unpackedRows = 16; // from more rows on, tiles are unpacked for all of them

// A Form says what the bits of a number mean. float4 is e2m1, float8 is e4m3.
enum class Form { affine2, affine3, affine4, affine5, affine6, affine8, float4, float8 };

constexpr int bitsOf(Form f) {
	constexpr int bits[] = {2, 3, 4, 5, 6, 8, 4, 8};
	return bits[int(f)];
}

// unitInputs returns the fewest inputs that take whole words.
constexpr int unitInputs(Form f) {
	int inputs = 1;
	while (inputs * bitsOf(f) % 32 != 0)
		inputs *= 2;
	return inputs;
}

// Scales says how the scales and biases of a group are stored: in a word each, or both in one.
enum class Scales { float32, float16, bfloat16 };

constexpr float float4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

// halfToFloat returns the float16 in the low half of a word.
inline float halfToFloat(uint32_t w) {
	return float(std::bit_cast<_Float16>(uint16_t(w)));
}

// A Matrix is the part of a packed one that is multiplied.
struct Matrix {
	int in, group, out; // group: inputs with one scale
	Scales scales;
	int tiles; // that have the outputs
	int64_t tileWords, groupWords, scaleWords, firstWord;

	Matrix(const tandem_packed& p, Form f)
		: in(p.in), group(p.group), out(p.out), scales(Scales(p.scales)),
		  tiles((out + lanes - 1) / lanes) {
		scaleWords = scales == Scales::float32 ? 2 * lanes : lanes;
		groupWords = scaleWords + int64_t(group) * bitsOf(f) / 32 * lanes;
		tileWords = in / group * groupWords;
		firstWord = p.first / lanes * tileWords;
	}
};

// A PackedWork is what one thread does at once: rows times the tiles [first, last).
struct PackedWork {
	const Matrix* matrix;
	const uint32_t* blocks; // its tiles
	const float* const* x; // of each row
	float* const* y;
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
#pragma GCC target("avx2,fma,f16c")
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

// multiplyOn returns the function for a target and a form. All of them add in the same order. The plain
// one may round each product before it adds it.
using Multiply = void (*)(const PackedWork&);
template <Form F>
Multiply multiplyOn(Target target) {
#if defined(__x86_64__)
	if (target == Target::AVX512)
		return avx512::multiply<F>;
	if (target == Target::AVX2)
		return avx2::multiply<F>;
#endif
	return plain::multiply<F>;
}
Multiply multiplyOn(Target target, Form f) {
	using On = Multiply (*)(Target);
	constexpr On all[] = {multiplyOn<Form::affine2>, multiplyOn<Form::affine3>, multiplyOn<Form::affine4>,
		multiplyOn<Form::affine5>, multiplyOn<Form::affine6>, multiplyOn<Form::affine8>,
		multiplyOn<Form::float4>, multiplyOn<Form::float8>};
	return all[int(f)](target);
}

namespace core = mlx::core;

// A Product multiplies the rows of a stack, each with the matrix that it goes to.
struct Product {
	Stack stack;
	Matrix matrix;
	const uint32_t* blocks; // of the first matrix
	int64_t matrixWords; // of one
	Multiply multiply;
	int threads; // that may share the work

	// multiplyAll does the work on several threads if there is enough. What a row gets does not depend
	// on how the work is divided.
	void multiplyAll() const noexcept {
		const int pieces = (matrix.tiles + pieceTiles - 1) / pieceTiles;
		auto work = [&](int i) {
			const int m = i / pieces, first = i % pieces * pieceTiles, begin = stack.begin(m);
			const int rows = stack.ends[m] - begin;
			if (rows > 0)
				multiply({&matrix, blocks + m * matrixWords, &stack.x[begin], &stack.y[begin], rows, first,
					std::min(first + pieceTiles, matrix.tiles)});
		};
		stack.share(threads, double(matrix.in) * matrix.out, pieces, work);
	}
};

class PackedMatMul : public core::Primitive {
public:
	PackedMatMul(core::Stream s, Target t, int threads, tandem_packed p)
		: Primitive(s), multiply_(multiplyOn(t, Form(p.form))), threads_(threads), matrix_(p, Form(p.form)) {}

	// in: x (rows, in), blocks (1, words); or x (n, k or 1, 1, in), blocks (E, words), chosen (n, k)
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		const core::array& blocks = in[1];
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		// All memory is taken here. On MLX's thread a lack of it would end the program.
		auto p = std::make_shared<Product>(Product{
			in.size() == 2 ? Stack(in[0], outs[0]) : Stack(in[0], in[2], blocks.shape(0), outs[0]),
			matrix_, blocks.data<uint32_t>() + matrix_.firstWord, blocks.strides(0), multiply_, threads_});
		p->stack.wantDense(matrix_.in);
		core::cpu::get_command_encoder(stream()).dispatch([p] {
			p->stack.sort();
			p->multiplyAll();
		});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("PackedMatMul is for the CPU.");
	}
	const char* name() const override { return "PackedMatMul"; }

private:
	Multiply multiply_;
	int threads_;
	Matrix matrix_;
};

// numberOf returns the number that the low bits of a word mean.
float numberOf(Form f, uint32_t w) {
	switch (f) {
	case Form::float8:
		return halfToFloat((w & 0x80) << 8 | (w & 0x7f) << 7) * 256;
	case Form::float4:
		return float4[w & 15];
	default:
		return w & ((1u << bitsOf(f)) - 1);
	}
}

// unpackOutput writes the weights of an output.
void unpackOutput(const Matrix& m, Form f, const uint32_t* blocks, int64_t output, float* to) {
	const int bits = bitsOf(f);
	const uint32_t* group = blocks + output / lanes * m.tileWords + output % lanes;
	for (int from = 0; from < m.in; from += m.group, group += m.groupWords) {
		float scale, bias;
		if (m.scales == Scales::float32)
			scale = std::bit_cast<float>(group[0]), bias = std::bit_cast<float>(group[lanes]);
		else if (m.scales == Scales::float16)
			scale = halfToFloat(group[0]), bias = halfToFloat(group[0] >> 16);
		else
			scale = std::bit_cast<float>(group[0] << 16), bias = std::bit_cast<float>(group[0] & 0xffff0000);
		const uint32_t* at = group + m.scaleWords;
		for (int i = 0; i < m.group; i++) {
			const int word = i * bits / 32, shift = i * bits % 32;
			uint32_t w = at[word * lanes] >> shift;
			if (shift + bits > 32)
				w |= at[(word + 1) * lanes] << (32 - shift);
			to[from + i] = std::fma(numberOf(f, w), scale, bias); // rounded once, as where products have FMA
		}
	}
}

class PackedRows : public core::Primitive {
public:
	PackedRows(core::Stream s, Target, int, tandem_packed p)
		: Primitive(s), form_(Form(p.form)), matrix_(p, form_) {}

	// in: ids (n) of 32-bit integers, blocks (1, words)
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		core::cpu::get_command_encoder(stream()).dispatch(
			[ids = in[0].data<int32_t>(), stride = in[0].strides(0), n = in[0].shape(0), to = outs[0].data<float>(),
				blocks = in[1].data<uint32_t>() + matrix_.firstWord, f = form_, m = matrix_] {
				for (int64_t i = 0; i < n; i++)
					unpackOutput(m, f, blocks, ids[i * stride], to + i * m.in);
			});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("PackedRows is for the CPU.");
	}
	const char* name() const override { return "PackedRows"; }

private:
	Form form_;
	Matrix matrix_;
};

} // namespace

int tandem_packed_matmul(mlx_array* out, mlx_array x, mlx_array blocks, mlx_array chosen,
	tandem_packed form, tandem_operation* how) {
	if (chosen.ctx == nullptr)
		return make<PackedMatMul>(out, {of(x).shape(0), form.out}, {of(x), of(blocks)}, how, form);
	return make<PackedMatMul>(out, {of(chosen).shape(0), of(chosen).shape(1), 1, form.out},
		{of(x), of(blocks), of(chosen)}, how, form);
}

int tandem_packed_rows(mlx_array* out, mlx_array ids, mlx_array blocks, tandem_packed form,
	tandem_operation* how) {
	return make<PackedRows>(out, {of(ids).shape(0), form.in}, {of(ids), of(blocks)}, how, form);
}
