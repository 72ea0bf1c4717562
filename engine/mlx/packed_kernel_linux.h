// The kernel of packed_linux.cpp, which includes it once for each target. L numbers are a vector there.

typedef float floats __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef uint16_t shorts __attribute__((vector_size(2 * L), aligned(2), may_alias));
constexpr int parts = lanes / L; // vectors of a tile
constexpr int prefetched = 512; // words ahead, 2 KiB

// all returns a vector of x, see power_linux.h.
INLINE floats all(float x) { return x - floats{}; }

// halves returns float16 numbers.
INLINE floats halves(shorts h) {
#if defined(PACKED_AVX512)
	return (floats)_mm512_cvtph_ps((__m256i)h);
#elif defined(PACKED_AVX2)
	return (floats)_mm256_cvtph_ps((__m128i)h);
#else
	floats x;
	for (int i = 0; i < L; i++)
		x[i] = halfToFloat(h[i]);
	return x;
#endif
}

// lowHalves returns the low halves of words, whose high ones are 0.
INLINE shorts lowHalves(words w) {
#if defined(PACKED_AVX512)
	return (shorts)_mm512_cvtepi32_epi16((__m512i)w);
#elif defined(PACKED_AVX2)
	return (shorts)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)w), _mm256_extracti128_si256((__m256i)w, 1));
#else
	return __builtin_convertvector(w, shorts);
#endif
}

// float4s returns the numbers of e2m1 that the low bits of words mean. Bits above them have no meaning.
INLINE floats float4s(words w) {
#if defined(PACKED_AVX512) || defined(PACKED_AVX2)
	floats table;
	for (int i = 0; i < L; i++)
		table[i] = float4[i];
#endif
#if defined(PACKED_AVX512)
	return (floats)_mm512_permutexvar_ps((__m512i)w, (__m512)table);
#elif defined(PACKED_AVX2) // a table that takes three bits, and the sign
	const floats size = (floats)_mm256_permutevar8x32_ps((__m256)table, (__m256i)w);
	return (floats)((words)size ^ (w & 8) << 28);
#else
	floats x;
	for (int i = 0; i < L; i++)
		x[i] = float4[w[i] & 15];
	return x;
#endif
}

// numbersAt returns the numbers of input e in a unit of a vector of outputs, times 2^shiftOf(F, e).
template <Form F>
INLINE floats numbersAt(const uint32_t* unit, int e) {
	constexpr int bits = bitsOf(F);
	constexpr uint32_t mask = (1u << bits) - 1;
	const int word = e * bits / 32, shift = e * bits % 32;
	words w = *(const words*)(unit + word * lanes);
	if constexpr (F == Form::float4)
		return float4s(w >> shift);
	else if constexpr (F == Form::float8) { // as float16, whose exponents are 8 larger
		w >>= shift;
		return halves(lowHalves((w & 0x80) << 8 | (w & 0x7f) << 7)) * 256.0f;
	} else {
		if (shift + bits < 32)
			w &= mask << shift;
		else {
			w >>= shift;
			if (shift + bits > 32)
				w = (w | *(const words*)(unit + (word + 1) * lanes) << (32 - shift)) & mask;
		}
		return __builtin_convertvector((ints)w, floats);
	}
}

// factorsAt returns the scales or biases of a vector of outputs, the i-th ones of a header.
INLINE floats factorsAt(const Matrix& m, const uint32_t* header, int i, int lane) {
	if (m.scales == Scales::float32)
		return *(const floats*)(header + i * lanes + lane);
	const shorts h = *(const shorts*)((const uint16_t*)header + i * lanes + lane);
	return m.scales == Scales::float16 ? halves(h) : (floats)(__builtin_convertvector(h, words) << 16);
}

// prepare writes a row as products take it: each input times 2^-shiftOf, then the sum of each group. A sum is that of
// as many lanes whatever L is, so that all targets add in the same order.
template <Form F>
void prepare(const Matrix& m, const float* x, int64_t stride, float* to) {
	static constexpr InputFactors<F> factors;
	for (int from = 0, g = 0; from < m.in; from += m.group, g++) {
		floats sums[parts]{};
		for (int k = from; k < from + m.group; k += L) {
			floats v;
			if (stride == 1)
				v = *(const floats*)(x + k);
			else
				for (int i = 0; i < L; i++)
					v[i] = x[(k + i) * stride];
			sums[k / L % parts] += v;
			*(floats*)(to + k) = v * *(const floats*)(factors.of + k % 32);
		}
		float sum = 0;
		for (int i = 0; i < lanes; i++)
			sum += sums[i / L][i % L];
		to[m.in + g] = sum;
	}
}

// addInput adds the products of R rows and V vectors of outputs with input k.
template <int R, int V>
INLINE void addInput(floats (&part)[R][V], const float* const (&x)[R], const floats (&numbers)[V], int64_t k) {
#pragma GCC unroll 8
	for (int r = 0; r < R; r++) {
		const floats a = all(x[r][k]);
#pragma GCC unroll 4
		for (int v = 0; v < V; v++)
			part[r][v] += a * numbers[v];
	}
}

// beginGroup sets what the products of group g are added to: the centre times the sum of its inputs, which is 0 where
// biases are stored.
template <int R, int V>
INLINE void beginGroup(const Matrix& m, floats (&part)[R][V], const float* const (&x)[R], int g) {
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
#pragma GCC unroll 4
		for (int v = 0; v < V; v++)
			part[r][v] = all(x[r][m.in + g] * m.centre);
}

// addGroup adds the scaled products of group g to sums. factors(v, ofBias) returns scales or biases.
template <int R, int V, class Factors>
INLINE void addGroup(const Matrix& m, floats (&sums)[R][V], const floats (&part)[R][V], const float* const (&x)[R],
	int g, const Factors& factors) {
#pragma GCC unroll 4
	for (int v = 0; v < V; v++) {
		const floats scale = factors(v, false);
#pragma GCC unroll 8
		for (int r = 0; r < R; r++)
			sums[r][v] += part[r][v] * scale;
	}
	if (m.biased)
#pragma GCC unroll 4
		for (int v = 0; v < V; v++) {
			const floats bias = factors(v, true);
#pragma GCC unroll 8
			for (int r = 0; r < R; r++)
				sums[r][v] += all(x[r][m.in + g]) * bias;
		}
}

// tileAt returns the tile of a vector of outputs. One beyond the last tile, whose sums are not written, reads that.
INLINE const uint32_t* tileAt(const PackedWork& w, int vector) {
	return w.blocks + std::min(vector / parts, w.matrix->tiles - 1) * w.matrix->tileWords;
}

// laneOf returns the first lane, in its tile, of the v-th of V vectors from a multiple of V on.
template <int V>
INLINE int laneOf(int vector, int v) {
	return V % parts == 0 ? v % parts * L : (vector + v) % parts * L;
}

// writeVector writes the sums of a vector of outputs. Outputs beyond the last one are not written.
INLINE void writeVector(const PackedWork& w, int row, int vector, floats sums) {
	float* y = w.y[row] + vector * L;
	const int outputs = w.matrix->out - vector * L;
	if (outputs >= L)
		*(floats*)y = sums;
	else
		for (int i = 0; i < outputs; i++)
			y[i] = sums[i];
}

// readVector returns what writeVector wrote.
INLINE floats readVector(const PackedWork& w, int row, int vector) {
	const float* y = w.y[row] + vector * L;
	const int outputs = w.matrix->out - vector * L;
	if (outputs >= L)
		return *(const floats*)y;
	floats sums{};
	for (int i = 0; i < outputs; i++)
		sums[i] = y[i];
	return sums;
}

// multiplyVectors multiplies R rows with V vectors of outputs. The products of a group are added one after the other
// and then scaled, whatever R and V are.
template <Form F, int R, int V>
INLINE void multiplyVectors(const PackedWork& w, int row, int vector) {
	const Matrix& m = *w.matrix;
	constexpr int inputs = unitInputs(F), step = inputs * bitsOf(F) / 32 * lanes;
	floats sums[R][V]{};
	const float* x[R];
	const uint32_t *at[V], *header[V];
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
		x[r] = w.x[row + r];
#pragma GCC unroll 4
	for (int v = 0; v < V; v++)
		at[v] = tileAt(w, vector + v);
	int64_t k = 0;
	for (int g = 0; k < m.in; g++) {
		if (g % m.headerGroups == 0)
#pragma GCC unroll 4
			for (int v = 0; v < V; v++) {
				header[v] = at[v];
				at[v] += m.headerWords;
			}
		floats part[R][V];
		beginGroup<R, V>(m, part, x, g);
		for (const int64_t end = k + m.group; k < end; k += inputs) {
#pragma GCC unroll 4
			for (int v = 0; v < V; v += parts) // the processor alone does not read beyond a page
#pragma GCC unroll 8
				for (int i = 0; i < step; i += lanes)
					__builtin_prefetch(at[v] + prefetched + i);
#pragma GCC unroll 32
			for (int e = 0; e < inputs; e++) {
				floats numbers[V];
#pragma GCC unroll 4
				for (int v = 0; v < V; v++)
					numbers[v] = numbersAt<F>(at[v] + laneOf<V>(vector, v), e);
				addInput<R, V>(part, x, numbers, k + e);
			}
#pragma GCC unroll 4
			for (int v = 0; v < V; v++)
				at[v] += step;
		}
		addGroup<R, V>(m, sums, part, x, g, [&](int v, bool ofBias) __attribute__((always_inline)) {
			return factorsAt(m, header[v], ofBias ? 1 : g % m.headerGroups, laneOf<V>(vector, v));
		});
	}
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
#pragma GCC unroll 4
		for (int v = 0; v < V; v++)
			writeVector(w, row + r, vector + v, sums[r][v]);
}

// multiplyRows multiplies the next rows, R at once, with the tiles of w.
template <Form F, int R, int V>
INLINE void multiplyRows(const PackedWork& w, int& row) {
	for (; row + R <= w.rows; row += R)
		for (int v = w.first * parts; v < w.last * parts; v += V)
			multiplyVectors<F, R, V>(w, row, v);
}

constexpr int tileVectors = 2; // of outputs of a Tile
constexpr int tileInputs = 256; // of a Tile, a multiple of each group

// A Tile holds some groups of vectors of outputs, unpacked, in the first cache: numbers (inputs, outputs) as numbersAt
// returns them, scales and biases (groups, outputs).
struct Tile {
	float numbers[tileInputs * tileVectors * L];
	float scales[tileInputs / 16 * tileVectors * L], biases[tileInputs / 16 * tileVectors * L];
};

// unpack writes the groups [group, group + groups) of vectors to a tile. group is even, if two have a header.
template <Form F>
INLINE void unpack(const PackedWork& w, int vector, int group, int groups, Tile& tile) {
	const Matrix& m = *w.matrix;
	constexpr int inputs = unitInputs(F), step = inputs * bitsOf(F) / 32 * lanes;
	for (int v = 0; v < tileVectors; v++) {
		const uint32_t *at = tileAt(w, vector + v) + m.wordsOf(group), *header = at;
		float* to = tile.numbers + v * L;
		for (int g = 0; g < groups; g++) {
			if (g % m.headerGroups == 0) {
				header = at;
				at += m.headerWords;
			}
			for (int k = 0; k < m.group; k += inputs, at += step)
#pragma GCC unroll 32
				for (int e = 0; e < inputs; e++, to += tileVectors * L)
					*(floats*)to = numbersAt<F>(at + laneOf<tileVectors>(vector, v), e);
			const int factor = (g * tileVectors + v) * L;
			*(floats*)(tile.scales + factor) = factorsAt(m, header, g % m.headerGroups, laneOf<tileVectors>(vector, v));
			if (m.biased)
				*(floats*)(tile.biases + factor) = factorsAt(m, header, 1, laneOf<tileVectors>(vector, v));
		}
	}
}

// addTile adds the products of the next rows, R at once, with the groups of a tile to what is written of them.
template <int R>
void addTile(const PackedWork& w, int& row, int vector, int group, int groups, const Tile& tile) {
	constexpr int V = tileVectors;
	const Matrix& m = *w.matrix;
	for (; row + R <= w.rows; row += R) {
		floats sums[R][V]{};
		const float* x[R];
#pragma GCC unroll 8
		for (int r = 0; r < R; r++) {
			x[r] = w.x[row + r];
			if (group > 0)
#pragma GCC unroll 4
				for (int v = 0; v < V; v++)
					sums[r][v] = readVector(w, row + r, vector + v);
		}
		int64_t k = group * m.group;
		const float* at = tile.numbers;
		for (int g = 0; g < groups; g++) {
			floats part[R][V];
			beginGroup<R, V>(m, part, x, group + g);
			for (const int64_t end = k + m.group; k < end; k++, at += V * L) {
				floats numbers[V];
#pragma GCC unroll 4
				for (int v = 0; v < V; v++)
					numbers[v] = *(const floats*)(at + v * L);
				addInput<R, V>(part, x, numbers, k);
			}
			addGroup<R, V>(m, sums, part, x, group + g, [&](int v, bool ofBias) __attribute__((always_inline)) {
				return *(const floats*)((ofBias ? tile.biases : tile.scales) + (g * V + v) * L);
			});
		}
#pragma GCC unroll 8
		for (int r = 0; r < R; r++)
#pragma GCC unroll 4
			for (int v = 0; v < V; v++)
				writeVector(w, row + r, vector + v, sums[r][v]);
	}
}

// multiply multiplies all rows of w with its tiles. Few rows read the matrix as it is packed. Many share
// tiles of it that are unpacked. Registers hold the sums of R rows and V vectors.
template <Form F>
void multiply(const PackedWork& w) {
	int row = 0;
	if (w.rows <= unpackedRows) {
		if constexpr (L == 16) {
			multiplyRows<F, 8, 2>(w, row);
			multiplyRows<F, 4, 4>(w, row);
		} else
			multiplyRows<F, 4, 2>(w, row);
		multiplyRows<F, 2, L == 4 ? 2 : 4>(w, row);
		multiplyRows<F, 1, 4>(w, row);
		return;
	}
	const Matrix& m = *w.matrix;
	Tile tile;
	const int all = m.in / m.group, most = tileInputs / m.group;
	for (int v = w.first * parts; v < w.last * parts; v += tileVectors)
		for (int g = 0; g < all; g += most) {
			const int groups = std::min(all - g, most);
			unpack<F>(w, v, g, groups, tile);
			row = 0;
			addTile<L == 16 ? 8 : 4>(w, row, v, g, groups, tile);
			addTile<1>(w, row, v, g, groups, tile);
		}
}
