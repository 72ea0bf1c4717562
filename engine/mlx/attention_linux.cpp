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
#include <vector>

#include "attention_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "helpers_linux.h"
#include "power_linux.h"

namespace {

constexpr int tile = 64; // keys that are attended at once, from a multiple of this number on
constexpr int rowsAtOnce = 4;
constexpr int blockQueries = 64; // of each head, that share the packing of a tile
constexpr double worthThreads = 1 << 22; // products

typedef uint32_t words __attribute__((vector_size(4 * lanes)));

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
	float* out; // (heads, n, values)
	float scale;
	bool causal;
	int heads, group, n, keys, width, values; // width: elements of a key
};

// product adds a (rowsAtOnce, count) b (count, W lanes) to c (rowsAtOnce, W lanes).
template <int W>
INLINE void product(const float* a, int aRow, const float* b, int64_t bRow, int count, float* c,
	int cRow) {
	floats sums[rowsAtOnce][W];
#pragma GCC unroll 4
	for (int r = 0; r < rowsAtOnce; r++)
#pragma GCC unroll 4
		for (int w = 0; w < W; w++)
			sums[r][w] = *(const floats*)(c + r * cRow + w * lanes);
	for (int i = 0; i < count; i++) {
		floats row[W];
#pragma GCC unroll 4
		for (int w = 0; w < W; w++)
			row[w] = *(const floats*)(b + i * bRow + w * lanes);
#pragma GCC unroll 4
		for (int r = 0; r < rowsAtOnce; r++) {
			floats x = all(a[r * aRow + i]);
#pragma GCC unroll 4
			for (int w = 0; w < W; w++)
				sums[r][w] += x * row[w];
		}
	}
#pragma GCC unroll 4
	for (int r = 0; r < rowsAtOnce; r++)
#pragma GCC unroll 4
		for (int w = 0; w < W; w++)
			*(floats*)(c + r * cRow + w * lanes) = sums[r][w];
}

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

// unpackKeys writes count rows of keys, turned, as (dim, tile). A vector has the same element of many
// rows. What it writes for the rows beyond count has no meaning.
template <int Bits>
INLINE void unpackKeys(const View& k, const Packed& p, const float* first, int count, float* keys) {
	constexpr int perWord = 32 / Bits;
	const int groups = p.dim / p.group, inGroup = p.group / perWord, elements = p.dim / perWord;
	for (int j0 = 0; j0 < tile; j0 += lanes) {
		const float* rows[lanes];
		for (int i = 0; i < lanes; i++)
			rows[i] = first + std::min(j0 + i, count - 1) * k.row;
		for (int g = 0; g < groups; g++) {
			floats scale{}, bias{};
			for (int i = 0; i < lanes; i++) {
				scale[i] = rows[i][(elements + g) * k.element];
				bias[i] = rows[i][(elements + groups + g) * k.element];
			}
			for (int w = g * inGroup; w < (g + 1) * inGroup; w++) {
				words x{};
				for (int i = 0; i < lanes; i++) {
					uint32_t word;
					std::memcpy(&word, rows[i] + w * k.element, 4);
					x[i] = word;
				}
				for (int e = 0; e < perWord; e++) {
					ints q = (ints)(x >> (e * Bits) & ((1u << Bits) - 1));
					*(floats*)(keys + (w * perWord + e) * tile + j0) =
						__builtin_convertvector(q, floats) * scale + bias;
				}
			}
		}
	}
}

// unpackValues writes count rows of values as (count, dim). A vector has elements of one row.
template <int Bits>
INLINE void unpackValues(const View& v, const Packed& p, const float* first, int count,
	float* values) {
	constexpr int perWord = 32 / Bits;
	const int groups = p.dim / p.group, elements = p.dim / perWord;
	words shift{};
	for (int i = 0; i < lanes; i++)
		shift[i] = i % perWord * Bits;
	for (int j = 0; j < count; j++) {
		const float* row = first + j * v.row;
		for (int g = 0; g < groups; g++) {
			const floats scale = all(row[(elements + g) * v.element]);
			const floats bias = all(row[(elements + groups + g) * v.element]);
			for (int d = g * p.group; d < (g + 1) * p.group; d += lanes) {
				words x{};
				for (int i = 0; i < lanes; i += perWord) {
					uint32_t word;
					std::memcpy(&word, row + (d + i) / perWord * v.element, 4);
					for (int e = 0; e < perWord; e++)
						x[i + e] = word;
				}
				ints q = (ints)(x >> shift & ((1u << Bits) - 1));
				*(floats*)(values + j * p.dim + d) =
					__builtin_convertvector(q, floats) * scale + bias;
			}
		}
	}
}

// weigh subtracts the largest score so far from the scores of a row, and turns them into powers of
// two. It returns the factor by which the sums so far have to be multiplied. The row sees the first
// seen keys of the tile.
INLINE float weigh(float* scores, int seen, const bool* mask, int64_t maskKey, float* most,
	float* sum) {
	const float none = -std::numeric_limits<float>::infinity();
	if (mask != nullptr)
		for (int j = 0; j < seen; j++)
			if (!mask[j * maskKey])
				scores[j] = none;
	for (int j = seen; j < tile; j++)
		scores[j] = none;
	floats large = *(const floats*)scores;
	for (int j = lanes; j < tile; j += lanes) {
		floats x = *(const floats*)(scores + j);
		large = x > large ? x : large;
	}
	float top = *most;
	for (int i = 0; i < lanes; i++)
		top = large[i] > top ? large[i] : top;
	if (top == none) { // no key yet; scores that are no numbers stay so
		for (int j = 0; j < tile; j += lanes) {
			floats x = *(const floats*)(scores + j);
			*(floats*)(scores + j) = x == x ? floats{} : x;
		}
		return 1;
	}
	float fade = power(all(*most - top))[0];
	floats total = *(const floats*)sum * fade;
	for (int j = 0; j < tile; j += lanes) {
		floats p = power(*(const floats*)(scores + j) - top);
		*(floats*)(scores + j) = p;
		total += p;
	}
	*(floats*)sum = total;
	*most = top;
	return fade;
}

// A Mask says how many of the keys of a tile a query attends.
enum class Mask : unsigned char { none, some, every };

// maskOf looks at count entries of a row of a mask.
INLINE Mask maskOf(const bool* row, int count, int64_t maskKey) {
	int seen = 0;
	for (int j = 0; j < count; j++)
		seen += row[j * maskKey];
	return seen == 0 ? Mask::none : seen == count ? Mask::every : Mask::some;
}

// attend computes the queries [from, to) of the heads that share the keys of head kv, in b.
INLINE void attend(const Attention& a, Block& b, int kv, int from, int to) {
	const int queries = to - from;
	b.start(a.group * queries);
	const float toPowers = a.scale * 1.4426950408889634f;
	for (int r = 0; r < b.rows; r++) {
		const float* row = a.q.data + (kv * a.group + r / queries) * a.q.head +
			(from + r % queries) * a.q.row;
		for (int d = 0; d < a.width; d++)
			b.q[r * a.width + d] = row[d * a.q.element] * toPowers;
	}
	const int past = a.keys - a.n; // keys before the first query
	const int last = a.causal ? past + to : a.keys;
	for (int first = 0; first < last; first += tile) {
		const int count = std::min(tile, last - first);
		Mask masks[blockQueries];
		bool seen = a.mask == nullptr;
		for (int i = 0; i < queries && a.mask != nullptr; i++) {
			const bool* row = a.mask + (from + i) * a.maskRow + first * a.maskKey;
			masks[i] = a.maskKey == 1 ? maskOf(row, count, 1) : maskOf(row, count, a.maskKey);
			seen = seen || masks[i] != Mask::none;
		}
		if (!seen)
			continue; // such a tile changes nothing
		const float* keys = a.k.data + kv * a.k.head + first * a.k.row;
		if (a.keysIn.bits == 4)
			unpackKeys<4>(a.k, a.keysIn, keys, count, b.keys.data());
		else if (a.keysIn.bits == 8)
			unpackKeys<8>(a.k, a.keysIn, keys, count, b.keys.data());
		else
			for (int j = 0; j < count; j++)
				for (int d = 0; d < a.width; d++)
					b.keys[d * tile + j] = keys[j * a.k.row + d * a.k.element];
		const float* values = a.v.data + kv * a.v.head + first * a.v.row;
		int64_t valuesRow = a.v.row;
		if (a.valuesIn.bits == 4)
			unpackValues<4>(a.v, a.valuesIn, values, count, b.values.data());
		else if (a.valuesIn.bits == 8)
			unpackValues<8>(a.v, a.valuesIn, values, count, b.values.data());
		else if (a.v.element != 1)
			for (int j = 0; j < count; j++)
				for (int d = 0; d < a.values; d++)
					b.values[j * a.values + d] = values[j * a.v.row + d * a.v.element];
		if (a.valuesIn.bits != 0 || a.v.element != 1) {
			values = b.values.data();
			valuesRow = a.values;
		}
		float* scores = b.scores.data();
		for (int r0 = 0; r0 < b.padded; r0 += rowsAtOnce) {
			std::memset(scores, 0, rowsAtOnce * tile * sizeof(float));
			for (int j = 0; j < tile; j += 2 * lanes)
				product<2>(&b.q[r0 * a.width], a.width, &b.keys[j], tile, a.width, scores + j, tile);
			for (int i = 0; i < rowsAtOnce && r0 + i < b.rows; i++) {
				const int r = r0 + i, query = from + r % queries;
				int seen = count;
				if (a.causal)
					seen = std::clamp(past + query + 1 - first, 0, count);
				const bool* mask = nullptr;
				if (a.mask != nullptr && masks[r % queries] != Mask::every)
					mask = a.mask + query * a.maskRow + first * a.maskKey;
				float fade = weigh(scores + i * tile, seen, mask, a.maskKey, &b.most[r],
					&b.sum[r * lanes]);
				if (fade != 1)
					for (int d = 0; d < a.values; d++)
						b.out[r * a.values + d] *= fade;
			}
			int d = 0;
			for (; d + 2 * lanes <= a.values; d += 2 * lanes)
				product<2>(scores, tile, values + d, valuesRow, count, &b.out[r0 * a.values + d],
					a.values);
			for (; d < a.values; d += lanes)
				product<1>(scores, tile, values + d, valuesRow, count, &b.out[r0 * a.values + d],
					a.values);
		}
	}
	for (int r = 0; r < b.rows; r++) {
		const int head = kv * a.group + r / queries;
		float sum = 0, fade = 1;
		for (int i = 0; i < lanes; i++)
			sum += b.sum[r * lanes + i];
		if (a.sinks != nullptr) {
			float sink = a.sinks[head * a.sink] * 1.4426950408889634f;
			float top = std::max(b.most[r], sink);
			fade = power(all(b.most[r] - top))[0];
			sum = sum * fade + power(all(sink - top))[0];
		}
		float* out = a.out + (int64_t(head) * a.n + from + r % queries) * a.values;
		for (int d = 0; d < a.values; d++)
			out[d] = b.out[r * a.values + d] * fade / sum;
	}
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void attendAVX512(const Attention& a, Block& b, int kv, int from,
	int to) {
	attend(a, b, kv, from, to);
}
__attribute__((target("avx2,fma"))) void attendAVX2(const Attention& a, Block& b, int kv, int from,
	int to) {
	attend(a, b, kv, from, to);
}
#endif
void attendPlainly(const Attention& a, Block& b, int kv, int from, int to) {
	attend(a, b, kv, from, to);
}

// attendOn returns the function for a target.
using Attend = void (*)(const Attention&, Block&, int kv, int from, int to);
Attend attendOn(Target target) {
#if defined(__x86_64__)
	if (target == Target::AVX512)
		return attendAVX512;
	if (target == Target::AVX2)
		return attendAVX2;
#endif
	return attendPlainly;
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
	else
		Helpers::all().share(threads, std::min(items, threads), take);
}

namespace core = mlx::core;

View view(const core::array& x) {
	return {x.data<float>(), x.strides(1), x.strides(2), x.strides(3)};
}

class TiledAttention : public core::Primitive {
public:
	TiledAttention(core::Stream s, Target t, int threads, const tandem_attention_input& in)
		: Primitive(s), attend_(attendOn(t)), threads_(threads), scale_(in.scale),
		  causal_(in.causal), mask_(in.mask.ctx != nullptr), sinks_(in.sinks.ctx != nullptr),
		  bits_(in.bits), keyGroup_(in.key_group), valueGroup_(in.value_group),
		  values_(in.values) {}

	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		core::array& out = outs[0];
		Attention a{};
		a.q = view(in[0]), a.k = view(in[1]), a.v = view(in[2]);
		if (mask_) {
			a.mask = in[3].data<bool>();
			a.maskRow = in[3].strides(0), a.maskKey = in[3].strides(1);
		}
		if (sinks_)
			a.sinks = in.back().data<float>(), a.sink = in.back().strides(0);
		a.scale = scale_, a.causal = causal_;
		a.heads = in[0].shape(1), a.group = a.heads / in[1].shape(1), a.n = in[0].shape(2);
		a.keys = in[1].shape(2), a.width = in[0].shape(3), a.values = values_;
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
	float scale_;
	bool causal_, mask_, sinks_;
	int bits_, keyGroup_, valueGroup_, values_;
};

} // namespace

int tandem_attention(mlx_array* out, const tandem_attention_input* in, tandem_operation* how) {
	const core::array& q = of(in->q);
	std::vector<core::array> arrays{q, of(in->k), of(in->v)};
	if (in->mask.ctx != nullptr)
		arrays.push_back(of(in->mask));
	if (in->sinks.ctx != nullptr)
		arrays.push_back(of(in->sinks));
	return make<TiledAttention>(out, {1, q.shape(1), q.shape(2), in->values}, std::move(arrays),
		how, *in);
}
