// Attention in float32 on the CPU, as one operation of MLX. It computes the scores of a few queries
// and keys at a time, which stay in registers and in the first cache. MLX's own operations write all
// scores to memory, and read them, a dozen times.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "attention_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "helpers_linux.h"

namespace {

constexpr int tile = 64; // keys that are attended at once, from a multiple of this number on
constexpr int rowsAtOnce = 4;
constexpr int lanes = 16; // sums of the powers of a row
constexpr int line = 16; // numbers of a line of the cache
constexpr int blockQueries = 64; // of each head, that share the packing of a tile
constexpr double worthThreads = 1 << 16; // products, which take longer than a helper to wake

// Strides are in elements, of the axes head, row and element.
struct View {
	const float* data;
	int64_t head, row, element;
};

// A Packed says how the rows of a view are packed: elements of so many bits, then the scales of all
// groups, then their biases. Strides of the view are in words.
struct Packed {
	int bits; // 0 = the rows are not packed
	int group, dim; // elements
};

struct Attention {
	View q, k, v;
	Packed keysIn, valuesIn;
	const bool* mask; // (n, keys) or null
	int64_t maskRow, maskKey;
	const float* sinks; // one of each head, or null
	int64_t sink;
	float* out; // (n, heads, values)
	float scale;
	bool causal;
	int heads, group, n, keys, width, values; // width: elements of a key
};

// A Block holds the work on at most blockQueries queries of the heads that share keys. A thread uses
// it again for each such work. Rows are padded to a multiple of rowsAtOnce.
struct Block {
	int rows, padded;
	std::vector<float> q, out, keys, values, scores;
	std::vector<float> most; // of each row, the largest score so far
	std::vector<float> sum; // of each row, lanes sums of its powers

	explicit Block(const Attention& a)
		: rows(a.group * std::min(a.n, blockQueries)), padded(paddedRows()), q(padded * a.width),
		  out(padded * a.values), keys(a.width * tile),
		  values(a.v.element == 1 && a.valuesIn.bits == 0 ? 0 : a.values * tile), scores(rowsAtOnce * tile), most(padded),
		  sum(padded * lanes) {}

	int paddedRows() const { return (rows + rowsAtOnce - 1) / rowsAtOnce * rowsAtOnce; }

	// start empties the block for so many rows, which are no more than before.
	void start(int count) {
		rows = count, padded = paddedRows();
		std::fill(q.begin(), q.end(), 0.0f);
		std::fill(out.begin(), out.end(), 0.0f);
		std::fill(most.begin(), most.end(), -std::numeric_limits<float>::infinity());
		std::fill(sum.begin(), sum.end(), 0.0f);
	}
};

// A Mask says how many of the keys of a tile a query attends.
enum class Mask : unsigned char { none, some, every };

// maskOf looks at count entries of a row of a mask.
INLINE Mask maskOf(const bool* row, int count, int64_t maskKey) {
	int seen = 0;
	for (int j = 0; j < count; j++)
		seen += row[j * maskKey];
	return seen == 0 ? Mask::none : seen == count ? Mask::every : Mask::some;
}

// Each target has the same kernel, in vectors of L numbers. What it tells the compiler about the processor has to
// stand around the kernel.
namespace plain {
constexpr int L = 8;
#include "attention_kernel_linux.h"
} // namespace plain

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr int L = 8;
#include "attention_kernel_linux.h"
} // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
namespace avx512 {
constexpr int L = 16;
#include "attention_kernel_linux.h"
} // namespace avx512
#pragma GCC pop_options
#endif

// attendOn returns the function for a target.
using Attend = void (*)(const Attention&, Block&, int kv, int from, int to);
Attend attendOn(Target target) {
#if defined(__x86_64__)
	if (target == Target::AVX512)
		return avx512::attend;
	if (target == Target::AVX2)
		return avx2::attend;
#endif
	return plain::attend;
}

// attendAll attends all queries, on several threads if there is enough to do. What a query gets does
// not depend on how the work is divided. One of the threads works in own. If another one gets no
// memory, this one does its share.
void attendAll(const Attention& a, Attend attend, int threads, Block& own) noexcept {
	const int heads = a.heads / a.group, blocks = (a.n + blockQueries - 1) / blockQueries;
	const int items = heads * blocks;
	std::atomic<int> next{0};
	auto work = [&](Block& b) {
		for (int i; (i = next++) < items;) {
			// The last queries see the most keys, so they come first.
			int from = (blocks - 1 - i / heads) * blockQueries;
			attend(a, b, i % heads, from, std::min(from + blockQueries, a.n));
		}
	};
	auto take = [&](int thread) {
		if (thread == 0)
			return work(own);
		try {
			Block b(a);
			work(b);
		} catch (const std::bad_alloc&) {
			// No item is taken before there is memory.
		}
	};
	if (double(a.heads) * a.n * a.keys * a.width < worthThreads)
		take(0);
	else {
		const int workers = std::min(items, threads);
		Helpers::all().share(workers, workers, take);
	}
}

namespace core = mlx::core;

View view(const core::array& x) {
	return {x.data<float>(), x.strides(1), x.strides(2), x.strides(3)};
}

// A Range is of rows.
struct Range {
	int from, count;
};

// KeptRows are some rows of an array (1, heads, rows, elements).
struct KeptRows {
	core::array whole;
	Range range;

	// KeptRows of a slice that is not computed yet are those of the array that it is cut from.
	explicit KeptRows(const core::array& x) : whole(x), range{0, x.shape(2)} {
		if (!isPending(x) || std::string_view(x.primitive().name()) != "Slice") // MLX hides the types of its classes
			return;
		const auto& [start, stop, strides] = static_cast<const core::Slice&>(x.primitive()).state();
		const core::array& cut = x.inputs()[0];
		for (int axis = 0; axis < 4; axis++)
			if (strides[axis] != 1 || axis != 2 && x.shape(axis) != cut.shape(axis))
				return;
		whole = cut, range = {start[2], stop[2] - start[2]};
	}
};

class TiledAttention : public core::Primitive {
public:
	// q, k and v are the rows of their inputs that are read.
	TiledAttention(core::Stream s, Target t, int threads, const tandem_attention_input& in, Range q, Range k, Range v)
		: Primitive(s), attend_(attendOn(t)), threads_(threads), q_(q), k_(k), v_(v), scale_(in.scale),
		  causal_(in.causal), mask_(in.mask.ctx != nullptr), sinks_(in.sinks.ctx != nullptr),
		  bits_(in.bits), keyGroup_(in.key_group), valueGroup_(in.value_group),
		  values_(in.values) {}

	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		core::array& out = outs[0];
		Attention a{};
		a.q = view(in[0]), a.k = view(in[1]), a.v = view(in[2]);
		a.q.data += q_.from * a.q.row, a.k.data += k_.from * a.k.row, a.v.data += v_.from * a.v.row;
		if (mask_) {
			a.mask = in[3].data<bool>();
			a.maskRow = in[3].strides(0), a.maskKey = in[3].strides(1);
		}
		if (sinks_)
			a.sinks = in.back().data<float>(), a.sink = in.back().strides(0);
		a.scale = scale_, a.causal = causal_;
		a.heads = in[0].shape(1), a.group = a.heads / in[1].shape(1), a.n = q_.count;
		a.keys = k_.count, a.width = in[0].shape(3), a.values = values_;
		a.keysIn = {bits_, keyGroup_, a.width}, a.valuesIn = {bits_, valueGroup_, a.values};
		// Memory that is lacking is an error of the evaluation here. On MLX's thread it would end the
		// program.
		auto own = std::make_shared<Block>(a);
		out.set_data(core::allocator::malloc(out.nbytes()));
		a.out = out.data<float>();
		core::cpu::get_command_encoder(stream()).dispatch(
			[a, own, attend = attend_, threads = threads_] { attendAll(a, attend, threads, *own); });
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("TiledAttention is for the CPU.");
	}
	const char* name() const override { return "TiledAttention"; }

private:
	Attend attend_;
	int threads_;
	Range q_, k_, v_;
	float scale_;
	bool causal_, mask_, sinks_;
	int bits_, keyGroup_, valueGroup_, values_;
};

} // namespace

int tandem_attention(mlx_array* out, const tandem_attention_input* in, tandem_operation* how) {
	const KeptRows q(of(in->q)), k(of(in->k)), v(of(in->v));
	std::vector<core::array> arrays{q.whole, k.whole, v.whole};
	if (in->mask.ctx != nullptr)
		arrays.push_back(of(in->mask));
	if (in->sinks.ctx != nullptr)
		arrays.push_back(of(in->sinks));
	return make<TiledAttention>(out, {q.range.count, q.whole.shape(1) * in->values}, std::move(arrays), how, *in,
		q.range, k.range, v.range);
}
