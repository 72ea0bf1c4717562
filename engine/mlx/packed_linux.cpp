// Products of float32 rows with a matrix that stays packed, on the CPU, as operations of MLX. Decoding
// reads all weights for each token, so the bytes of the matrix are its time. MLX's own product takes
// one row after the other, and one thread.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "fused_linux.h"
#include "large_pages_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "packed_linux.h"
#include "stack_linux.h"

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

// shiftOf returns the power of two by which numbers of input e of a unit are larger where they lie in their words.
// Products take them so, with inputs that are smaller by as much, which saves a shift. It is 0 for numbers that are
// shifted: those at the top of a word, those in two words, and floats.
constexpr int shiftOf(Form f, int e) {
	const int shift = e * bitsOf(f) % 32;
	return f >= Form::float4 || shift + bitsOf(f) >= 32 ? 0 : shift;
}

// InputFactors are the powers of two that products multiply 32 inputs by, 2^-shiftOf.
template <Form F>
struct InputFactors {
	float of[32];
	constexpr InputFactors() : of() {
		for (int e = 0; e < 32; e++)
			of[e] = 1.0f / float(1u << shiftOf(F, e % unitInputs(F)));
	}
};

// Scales says how scales and biases are stored. A header has, side by side for the lanes:
//   - with biases the scales of a group, then its biases
//   - without biases the scales of a group, or in 16 bits those of two groups
enum class Scales { float32, float16, bfloat16 };

constexpr float float4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

// halfToFloat returns a float16.
inline float halfToFloat(uint16_t half) { return float(std::bit_cast<_Float16>(half)); }

// A Matrix is the part of a packed one that is multiplied.
struct Matrix {
	int in, group, out; // group: inputs with one scale
	Scales scales;
	bool biased;
	float centre; // times the scale, the bias of a matrix without biases
	int tiles; // that have the outputs
	int headerGroups; // that have one header
	int64_t headerWords, groupWords, tileWords, firstWord; // groupWords without the header

	Matrix(const tandem_packed& p, Form f)
		: in(p.in), group(p.group), out(p.out), scales(Scales(p.scales)), biased(p.biased),
		  centre(biased || f >= Form::float4 ? 0 : -float(1 << (bitsOf(f) - 1))), tiles((out + lanes - 1) / lanes) {
		headerGroups = biased || scales == Scales::float32 ? 1 : 2;
		headerWords = biased && scales == Scales::float32 ? 2 * lanes : lanes;
		groupWords = int64_t(group) * bitsOf(f) / 32 * lanes;
		tileWords = wordsOf(in / group);
		firstWord = p.first / lanes * tileWords;
	}

	// wordsOf returns the words of the first groups, whose number headerGroups divides, of a tile.
	int64_t wordsOf(int groups) const { return groups * groupWords + groups / headerGroups * headerWords; }

	// factorAt returns the scale or bias of a lane, the i-th one of a header.
	float factorAt(const uint32_t* header, int i, int lane) const {
		if (scales == Scales::float32)
			return std::bit_cast<float>(header[i * lanes + lane]);
		uint16_t half;
		std::memcpy(&half, reinterpret_cast<const char*>(header) + 2 * (i * lanes + lane), sizeof half);
		return scales == Scales::float16 ? halfToFloat(half) : std::bit_cast<float>(uint32_t(half) << 16);
	}
};

// A PackedWork is what one thread does at once: rows times the tiles [first, last).
struct PackedWork {
	const Matrix* matrix;
	const uint32_t* blocks; // its tiles
	const float* const* x; // of each row, prepared
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

// Functions are those for a target and a form. All targets add the products of an output in the same order. The plain
// one may round each product before it adds it.
struct Functions {
	void (*prepare)(const Matrix&, const float*, int64_t, float*);
	void (*multiply)(const PackedWork&);
};
template <Form F>
Functions functionsOn(Target target) {
#if defined(__x86_64__)
	if (target == Target::AVX512)
		return {avx512::prepare<F>, avx512::multiply<F>};
	if (target == Target::AVX2)
		return {avx2::prepare<F>, avx2::multiply<F>};
#endif
	return {plain::prepare<F>, plain::multiply<F>};
}
Functions functionsOn(Target target, Form f) {
	using On = Functions (*)(Target);
	constexpr On all[] = {functionsOn<Form::affine2>, functionsOn<Form::affine3>, functionsOn<Form::affine4>,
		functionsOn<Form::affine5>, functionsOn<Form::affine6>, functionsOn<Form::affine8>,
		functionsOn<Form::float4>, functionsOn<Form::float8>};
	return all[int(f)](target);
}

namespace core = mlx::core;

// A Product multiplies the rows of a stack, each with the matrix that it goes to.
struct Product {
	Stack stack;
	Matrix matrix;
	const uint32_t* blocks; // of the first matrix
	int64_t matrixWords; // of one
	Functions functions;
	int threads; // that may share the work
	core::array prepared; // (rows, in + groups)
	std::shared_ptr<const RowFunction> function; // that makes rows of those of the stack, or null
	const float* weight; // of function, or null
	const float* summand; // (rows, out) or (out), or null
	int64_t summandRow, summandStride;
	std::vector<float> copies; // of the rows that function takes, if these do not lie densely

	// dense returns row r of the stack, with its elements side by side.
	const float* dense(int r) noexcept {
		if (copies.empty())
			return stack.x[r];
		const int64_t elements = copies.size() / stack.x.size();
		float* copy = copies.data() + r * elements;
		for (int64_t i = 0; i < elements; i++)
			copy[i] = stack.x[r][i * stack.xStride];
		return copy;
	}

	// prepareAll prepares all rows.
	void prepareAll() noexcept {
		const int rows = stack.x.size(), width = prepared.shape(1), several = 16;
		auto work = [&](int i) {
			for (int r = i * several; r < std::min(rows, (i + 1) * several); r++) {
				float* to = prepared.data<float>() + int64_t(r) * width;
				if (function == nullptr)
					functions.prepare(matrix, stack.x[r], stack.xStride, to);
				else {
					function->apply(dense(r), weight, matrix.in, to);
					functions.prepare(matrix, to, 1, to);
				}
				stack.x[r] = to;
			}
		};
		Helpers::all().share(threads, (rows + several - 1) / several, work);
	}

	// addSummand adds the summand to the outputs [from, to) of row r.
	void addSummand(int r, int from, int to) const noexcept {
		const float* s = summand + r * summandRow;
		float* y = stack.y[r];
		if (summandStride == 1)
			for (int o = from; o < to; o++)
				y[o] += s[o];
		else
			for (int o = from; o < to; o++)
				y[o] += s[o * summandStride];
	}

	// multiplyAll does the work on several threads if there is enough. What a row gets does not depend
	// on how the work is divided.
	void multiplyAll() const noexcept {
		const int pieces = (matrix.tiles + pieceTiles - 1) / pieceTiles;
		auto work = [&](int i) {
			const int m = i / pieces, first = i % pieces * pieceTiles, begin = stack.begin(m);
			const int rows = stack.ends[m] - begin;
			if (rows == 0)
				return;
			const int last = std::min(first + pieceTiles, matrix.tiles);
			functions.multiply(
				{&matrix, blocks + m * matrixWords, &stack.x[begin], &stack.y[begin], rows, first, last});
			for (int r = 0; summand != nullptr && r < rows; r++)
				addSummand(r, first * lanes, std::min(last * lanes, matrix.out));
		};
		stack.share(threads, double(matrix.in) * matrix.out, pieces, work);
	}
};

class PackedMatMul : public core::Primitive, public Addable {
public:
	// function makes the rows that are multiplied of those of x. It may be null.
	PackedMatMul(core::Stream s, Target t, int threads, tandem_packed p, bool chooses,
		std::shared_ptr<const RowFunction> function, bool sums)
		: Primitive(s), target_(t), threads_(threads), packed_(p), chooses_(chooses), function_(std::move(function)),
		  sums_(sums) {}

	// in: x (rows, in), blocks (1, words); or x (n, k or 1, 1, in), blocks (E, words), chosen (n, k). Then
	// maybe the weight of the function, and (rows, out) or (out) to add.
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		const core::array &x = in[0], &blocks = in[1];
		const Form form = Form(packed_.form);
		const Matrix matrix(packed_, form);
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		// All memory is taken here. On MLX's thread a lack of it would end the program.
		Stack stack = chooses_ ? Stack(x, in[2], blocks.shape(0), outs[0]) : Stack(x, outs[0]);
		core::array prepared({int(stack.x.size()), matrix.in + matrix.in / matrix.group}, core::float32, nullptr, {});
		prepared.set_data(core::allocator::malloc(prepared.nbytes()));
		std::vector<float> copies(function_ != nullptr && stack.xStride != 1 ? stack.x.size() * x.shape(-1) : 0);
		const size_t weight = chooses_ ? 3 : 2;
		const bool weighted = in.size() - sums_ > weight;
		auto p = std::make_shared<Product>(Product{std::move(stack), matrix,
			blocks.data<uint32_t>() + matrix.firstWord, blocks.strides(0), functionsOn(target_, form), threads_,
			prepared, function_,
			weighted ? denseVector(in[weight]) : nullptr, sums_ ? in.back().data<float>() : nullptr,
			sums_ && in.back().ndim() > 1 ? in.back().strides(0) : 0, sums_ ? in.back().strides(-1) : 0,
			std::move(copies)});
		core::cpu::get_command_encoder(stream()).dispatch([p] {
			p->stack.sort();
			p->prepareAll();
			p->multiplyAll();
		});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("PackedMatMul is for the CPU.");
	}
	std::shared_ptr<core::Primitive> withSummand() override {
		if (sums_ || chooses_)
			return nullptr;
		return std::make_shared<PackedMatMul>(stream(), target_, threads_, packed_, chooses_, function_, true);
	}
	const char* name() const override { return "PackedMatMul"; }

private:
	Target target_;
	int threads_;
	tandem_packed packed_;
	bool chooses_;
	std::shared_ptr<const RowFunction> function_;
	bool sums_;
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
	const int lane = output % lanes;
	const uint32_t *at = blocks + output / lanes * m.tileWords, *header = at;
	for (int g = 0; g < m.in / m.group; g++, at += m.groupWords) {
		if (g % m.headerGroups == 0) {
			header = at;
			at += m.headerWords;
		}
		const float scale = m.factorAt(header, g % m.headerGroups, lane);
		const float bias = m.biased ? m.factorAt(header, 1, lane) : m.centre * scale;
		for (int i = 0; i < m.group; i++) {
			const int word = i * bits / 32, shift = i * bits % 32;
			uint32_t w = at[word * lanes + lane] >> shift;
			if (shift + bits > 32)
				w |= at[(word + 1) * lanes + lane] << (32 - shift);
			*to++ = std::fma(numberOf(f, w), scale, bias); // rounded once
		}
	}
}

class Pack : public core::Primitive {
public:
	Pack(core::Stream s, Target, int, int headers, bool halves) : Primitive(s), headers_(headers), halves_(halves) {}

	// in: scales, maybe biases, numbers (E, out, words). A word of scales may have two halves.
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		outs[0].set_data(LargePages::all().take(outs[0].nbytes()));
		struct Part {
			const uint32_t* data;
			int64_t matrix, output, word; // strides
			int columns; // words of a header
		};
		std::vector<Part> parts;
		for (const core::array& x : in)
			parts.push_back({x.data<uint32_t>(), x.strides(0), x.strides(1), x.strides(2), x.shape(2) / headers_});
		core::cpu::get_command_encoder(stream()).dispatch(
			[parts, matrices = in[0].shape(0), out = in[0].shape(1), headers = headers_, halves = halves_,
				to = outs[0].data<uint32_t>()]() mutable {
				for (int m = 0; m < matrices; m++)
					for (int first = 0; first < out; first += lanes)
						for (int h = 0; h < headers; h++)
							for (const Part& p : parts)
								for (int c = h * p.columns; c < (h + 1) * p.columns; c++, to += lanes) {
									for (int l = 0; l < lanes; l++)
										to[l] = first + l >= out
											? 0 : p.data[m * p.matrix + (first + l) * p.output + c * p.word];
									if (halves && &p == parts.data())
										split(to);
								}
			});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("Pack is for the CPU.");
	}
	const char* name() const override { return "Pack"; }

private:
	// split puts the low halves of a header of words before the high ones.
	static void split(uint32_t* header) {
		uint16_t halves[2 * lanes];
		for (int l = 0; l < lanes; l++)
			halves[l] = header[l], halves[lanes + l] = header[l] >> 16;
		std::memcpy(header, halves, sizeof halves);
	}

	int headers_;
	bool halves_;
};

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

int tandem_pack(mlx_array* out, mlx_array scales, mlx_array biases, mlx_array numbers, int headers, bool halves,
	tandem_operation* how) try {
	std::vector<core::array> in{of(scales)};
	if (biases.ctx != nullptr)
		in.push_back(of(biases));
	in.push_back(of(numbers));
	int words = 0; // of an output
	for (const core::array& x : in)
		words += x.shape(2);
	const int outputs = (of(scales).shape(1) + lanes - 1) / lanes * lanes;
	out->ctx = new core::array({of(scales).shape(0), outputs * words}, core::uint32,
		primitiveOf<Pack>(how, headers, halves), std::move(in));
	return 0;
} catch (const std::exception& e) {
	return failed(how, e);
}

size_t tandem_large_bytes(void) { return LargePages::all().bytes(); }

int tandem_packed_matmul(mlx_array* out, mlx_array x, mlx_array blocks, mlx_array chosen,
	tandem_packed form, tandem_operation* how) {
	const bool chooses = chosen.ctx != nullptr;
	const auto function = RowFunction::of(of(x));
	std::vector<core::array> in{function == nullptr ? of(x) : of(x).inputs()[0], of(blocks)};
	if (chooses)
		in.push_back(of(chosen));
	if (function != nullptr && of(x).inputs().size() > 1)
		in.push_back(of(x).inputs()[1]);
	core::Shape shape{of(x).shape(0), form.out};
	if (chooses)
		shape = {of(chosen).shape(0), of(chosen).shape(1), 1, form.out};
	return make<PackedMatMul>(out, std::move(shape), std::move(in), how, form, chooses, function, false);
}

int tandem_packed_rows(mlx_array* out, mlx_array ids, mlx_array blocks, tandem_packed form,
	tandem_operation* how) {
	return make<PackedRows>(out, {of(ids).shape(0), form.in}, {of(ids), of(blocks)}, how, form);
}
