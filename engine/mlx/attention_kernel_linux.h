// The kernel of attention_linux.cpp, which includes it once for each target.

#include "power_linux.h"

typedef uint32_t words __attribute__((vector_size(4 * L)));

// product adds a (rowsAtOnce, count) b (count, W*L) to c (rowsAtOnce, W*L). If Prefetches is set, it prefetches
// a cache line of ahead with each row of b.
template <int W, bool Prefetches = false>
INLINE void product(const float* a, int aRow, const float* b, int64_t bRow, int count, float* c,
	int cRow, const float* ahead = nullptr) {
	floats sums[rowsAtOnce][W];
#pragma GCC unroll 4
	for (int r = 0; r < rowsAtOnce; r++)
#pragma GCC unroll 4
		for (int w = 0; w < W; w++)
			sums[r][w] = *(const floats*)(c + r * cRow + w * L);
	for (int i = 0; i < count; i++) {
		if (Prefetches)
			__builtin_prefetch(ahead + i * line);
		floats row[W];
#pragma GCC unroll 4
		for (int w = 0; w < W; w++)
			row[w] = *(const floats*)(b + i * bRow + w * L);
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
			*(floats*)(c + r * cRow + w * L) = sums[r][w];
}

// unpackKeys writes count rows of keys, turned, as (dim, tile). A vector has the same element of many
// rows. What it writes for the rows beyond count has no meaning.
template <int Bits>
INLINE void unpackKeys(const View& k, const Packed& p, const float* first, int count, float* keys) {
	constexpr int perWord = 32 / Bits;
	const int groups = p.dim / p.group, inGroup = p.group / perWord, elements = p.dim / perWord;
	for (int j0 = 0; j0 < tile; j0 += L) {
		const float* rows[L];
		for (int i = 0; i < L; i++)
			rows[i] = first + std::min(j0 + i, count - 1) * k.row;
		for (int g = 0; g < groups; g++) {
			floats scale{}, bias{};
			for (int i = 0; i < L; i++) {
				scale[i] = rows[i][(elements + g) * k.element];
				bias[i] = rows[i][(elements + groups + g) * k.element];
			}
			for (int w = g * inGroup; w < (g + 1) * inGroup; w++) {
				words x{};
				for (int i = 0; i < L; i++) {
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
	for (int i = 0; i < L; i++)
		shift[i] = i % perWord * Bits;
	for (int j = 0; j < count; j++) {
		const float* row = first + j * v.row;
		for (int g = 0; g < groups; g++) {
			const floats scale = all(row[(elements + g) * v.element]);
			const floats bias = all(row[(elements + groups + g) * v.element]);
			for (int d = g * p.group; d < (g + 1) * p.group; d += L) {
				words x{};
				for (int i = 0; i < L; i += perWord) {
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
// seen of so many keys, a multiple of L.
INLINE float weigh(float* scores, int keys, int seen, const bool* mask, int64_t maskKey, float* most,
	float* sum) {
	const float none = -std::numeric_limits<float>::infinity();
	if (mask != nullptr)
		for (int j = 0; j < seen; j++)
			if (!mask[j * maskKey])
				scores[j] = none;
	for (int j = seen; j < keys; j++)
		scores[j] = none;
	floats large = *(const floats*)scores;
	for (int j = L; j < keys; j += L) {
		floats x = *(const floats*)(scores + j);
		large = x > large ? x : large;
	}
	float top = *most;
	for (int i = 0; i < L; i++)
		top = large[i] > top ? large[i] : top;
	if (top == none) { // no key yet; scores that are no numbers stay so
		for (int j = 0; j < keys; j += L) {
			floats x = *(const floats*)(scores + j);
			*(floats*)(scores + j) = x == x ? floats{} : x;
		}
		return 1;
	}
	float fade = power(all(*most - top))[0];
	floats total[lanes / L];
	for (int i = 0; i < lanes / L; i++)
		total[i] = *(const floats*)(sum + i * L) * fade;
	for (int j = 0; j < keys; j += L) {
		floats p = power(*(const floats*)(scores + j) - top);
		*(floats*)(scores + j) = p;
		total[j / L % (lanes / L)] += p;
	}
	for (int i = 0; i < lanes / L; i++)
		*(floats*)(sum + i * L) = total[i];
	*most = top;
	return fade;
}

// transpose8 writes 8 elements of 8 rows of a, which are stride apart, as 8 columns of rows of tile elements.
INLINE void transpose8(const float* a, int64_t stride, float* to) {
	typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
	typedef int32_t order __attribute__((vector_size(32)));
	eight x[8], y[8];
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		x[i] = *(const eight*)(a + i * stride);
#pragma GCC unroll 4
	for (int i = 0; i < 8; i += 2) { // squares of 2
		y[i] = __builtin_shuffle(x[i], x[i + 1], (order){0, 8, 2, 10, 4, 12, 6, 14});
		y[i + 1] = __builtin_shuffle(x[i], x[i + 1], (order){1, 9, 3, 11, 5, 13, 7, 15});
	}
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) { // of 4
		const int j = i & ~2;
		x[i] = i & 2 ? __builtin_shuffle(y[j], y[j + 2], (order){2, 3, 10, 11, 6, 7, 14, 15})
					 : __builtin_shuffle(y[j], y[j + 2], (order){0, 1, 8, 9, 4, 5, 12, 13});
	}
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) {
		const int j = i & ~4;
		*(eight*)(to + i * tile) = i & 4 ? __builtin_shuffle(x[j], x[j + 4], (order){4, 5, 6, 7, 12, 13, 14, 15})
										 : __builtin_shuffle(x[j], x[j + 4], (order){0, 1, 2, 3, 8, 9, 10, 11});
	}
}

// transposeKeys writes count rows of keys as (width, tile). It prefetches as many numbers of ahead.
INLINE void transposeKeys(const View& k, int width, const float* first, int count, float* keys, const float* ahead) {
	int done = 0;
	if (k.element == 1 && width % 8 == 0)
		for (; done + 8 <= count; done += 8)
			for (int d = 0; d < width; d += 8, ahead += 8 * 8) {
				transpose8(first + done * k.row + d, k.row, keys + d * tile + done);
#pragma GCC unroll 4
				for (int i = 0; i < 8 * 8; i += line)
					__builtin_prefetch(ahead + i);
			}
	for (; done < count; done++)
		for (int d = 0; d < width; d++)
			keys[d * tile + done] = first[done * k.row + d * k.element];
}

// attend computes the queries [from, to) of the heads that share the keys of head kv, in b.
void attend(const Attention& a, Block& b, int kv, int from, int to) {
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
		const float* values = a.v.data + kv * a.v.head + first * a.v.row;
		if (a.keysIn.bits == 4)
			unpackKeys<4>(a.k, a.keysIn, keys, count, b.keys.data());
		else if (a.keysIn.bits == 8)
			unpackKeys<8>(a.k, a.keysIn, keys, count, b.keys.data());
		else
			transposeKeys(a.k, a.width, keys, count, b.keys.data(), values);
		const float* nextKeys = keys + tile * a.k.row;
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
		const int used = (count + 2 * L - 1) / (2 * L) * (2 * L); // keys whose scores are computed
		float* scores = b.scores.data();
		for (int r0 = 0; r0 < b.padded; r0 += rowsAtOnce) {
			std::memset(scores, 0, rowsAtOnce * tile * sizeof(float));
			for (int j = 0; j < used; j += 2 * L)
				product<2>(&b.q[r0 * a.width], a.width, &b.keys[j], tile, a.width, scores + j, tile);
			for (int i = 0; i < rowsAtOnce && r0 + i < b.rows; i++) {
				const int r = r0 + i, query = from + r % queries;
				int seen = count;
				if (a.causal)
					seen = std::clamp(past + query + 1 - first, 0, count);
				const bool* mask = nullptr;
				if (a.mask != nullptr && masks[r % queries] != Mask::every)
					mask = a.mask + query * a.maskRow + first * a.maskKey;
				float fade = weigh(scores + i * tile, used, seen, mask, a.maskKey, &b.most[r],
					&b.sum[r * lanes]);
				if (fade != 1)
					for (int d = 0; d < a.values; d++)
						b.out[r * a.values + d] *= fade;
			}
			int d = 0;
			for (; r0 == 0 && d + 2 * L <= a.values; d += 2 * L) // the next keys are prefetched once
				product<2, true>(scores, tile, values + d, valuesRow, count, &b.out[d], a.values, nextKeys + d * tile);
			for (; d + 2 * L <= a.values; d += 2 * L)
				product<2>(scores, tile, values + d, valuesRow, count, &b.out[r0 * a.values + d],
					a.values);
			for (; d < a.values; d += L)
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
		float* out = a.out + (int64_t(from + r % queries) * a.heads + head) * a.values;
		for (int d = 0; d < a.values; d++)
			out[d] = b.out[r * a.values + d] * fade / sum;
	}
}
