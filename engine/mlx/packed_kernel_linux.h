// The kernel of packed_linux.cpp, which includes it once for each target. L numbers are a vector there.

typedef float floats __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * L), aligned(4), may_alias));
constexpr int parts = lanes / L; // vectors of a tile

// halves returns the float16 numbers in the low halves of words.
INLINE floats halves(words w) {
#if defined(PACKED_AVX512)
	return (floats)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)w));
#elif defined(PACKED_AVX2)
	const __m256i low = (__m256i)(w & 0xffff);
	return (floats)_mm256_cvtph_ps(
		_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
#else
	floats x;
	for (int i = 0; i < L; i++)
		x[i] = halfToFloat(w[i]);
	return x;
#endif
}

// numbers returns the numbers that the low bits of words mean. Bits above them have no meaning.
template <Form F>
INLINE floats numbers(words w) {
	constexpr int bits = bitsOf(F);
	if constexpr (F == Form::float8) // as float16, whose exponents are 8 larger
		return halves((w & 0x80) << 8 | (w & 0x7f) << 7) * 256.0f;
#if defined(PACKED_AVX512)
	else if constexpr (bits <= 4) { // a table that takes four bits
		floats table;
		for (int i = 0; i < L; i++)
			table[i] = F == Form::float4 ? float4[i] : float(i & ((1 << bits) - 1));
		return (floats)_mm512_permutexvar_ps((__m512i)w, (__m512)table);
	}
#elif defined(PACKED_AVX2)
	else if constexpr (F == Form::float4) { // a table that takes three bits, and the sign
		floats table;
		for (int i = 0; i < L; i++)
			table[i] = float4[i];
		const floats size = (floats)_mm256_permutevar8x32_ps((__m256)table, (__m256i)w);
		return (floats)((words)size ^ (w & 8) << 28);
	}
#else
	else if constexpr (F == Form::float4) {
		floats x;
		for (int i = 0; i < L; i++)
			x[i] = float4[w[i] & 15];
		return x;
	}
#endif
	else
		return __builtin_convertvector((ints)(w & ((1u << bits) - 1)), floats);
}

// numberAt returns the numbers of input e in a unit of a vector of outputs.
template <Form F>
INLINE floats numberAt(const uint32_t* unit, int e) {
	constexpr int bits = bitsOf(F);
	const int word = e * bits / 32, shift = e * bits % 32;
	words w = *(const words*)(unit + word * lanes) >> shift;
	if (shift + bits > 32)
		w |= *(const words*)(unit + (word + 1) * lanes) << (32 - shift);
	return numbers<F>(w);
}

// A Factors holds scales and biases of a group of a vector of outputs.
struct Factors {
	floats scale, bias;

	static __attribute__((always_inline)) Factors at(Scales s, const uint32_t* group) {
		const words w = *(const words*)group;
		if (s == Scales::float32)
			return {(floats)w, *(const floats*)(group + lanes)};
		if (s == Scales::float16)
			return {halves(w), halves(w >> 16)};
		return {(floats)(w << 16), (floats)(w & 0xffff0000)};
	}
};

// weightAt is numberAt, scaled.
template <Form F>
INLINE floats weightAt(const uint32_t* unit, int e, const Factors& f) {
	return numberAt<F>(unit, e) * f.scale + f.bias;
}

// vectorAt returns where a vector of outputs begins. One beyond the last tile, whose sums are not written, reads that.
INLINE const uint32_t* vectorAt(const PackedWork& w, int vector) {
	return w.blocks + std::min(vector / parts, w.matrix->tiles - 1) * w.matrix->tileWords + vector % parts * L;
}

// multiplyVectors multiplies R rows with V vectors of outputs. Each sum grows by one product after the other,
// whatever R and V are. Outputs beyond the last one are not written.
template <Form F, int R, int V>
INLINE void multiplyVectors(const PackedWork& w, int row, int vector) {
	const Matrix& m = *w.matrix;
	constexpr int inputs = unitInputs(F), step = inputs * bitsOf(F) / 32 * lanes;
	floats sums[R][V]{};
	const float* x[R];
	const uint32_t* at[V];
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
		x[r] = w.x[row + r];
#pragma GCC unroll 4
	for (int v = 0; v < V; v++)
		at[v] = vectorAt(w, vector + v);
	for (int from = 0; from < m.in; from += m.group) {
		Factors f[V];
#pragma GCC unroll 4
		for (int v = 0; v < V; v++) {
			f[v] = Factors::at(m.scales, at[v]);
			at[v] += m.scaleWords;
		}
		for (int k = from; k < from + m.group; k += inputs) {
#pragma GCC unroll 32
			for (int e = 0; e < inputs; e++) {
				floats weight[V];
#pragma GCC unroll 4
				for (int v = 0; v < V; v++)
					weight[v] = weightAt<F>(at[v], e, f[v]);
#pragma GCC unroll 8
				for (int r = 0; r < R; r++) {
					const floats a = x[r][k + e] - floats{}; // see all in power_linux.h
#pragma GCC unroll 4
					for (int v = 0; v < V; v++)
						sums[r][v] += a * weight[v];
				}
			}
#pragma GCC unroll 4
			for (int v = 0; v < V; v++)
				at[v] += step;
		}
	}
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
#pragma GCC unroll 4
		for (int v = 0; v < V; v++) {
			const int first = (vector + v) * L;
			float* y = w.y[row + r] + first;
			if (first + L <= m.out)
				*(floats*)y = sums[r][v];
			else
				for (int i = 0; i < m.out - first; i++)
					y[i] = sums[r][v][i];
		}
}

// multiplyRows multiplies the next rows, R at once, with the tiles of w.
template <Form F, int R, int V>
INLINE void multiplyRows(const PackedWork& w, int& row) {
	for (; row + R <= w.rows; row += R)
		for (int v = w.first * parts; v < w.last * parts; v += V)
			multiplyVectors<F, R, V>(w, row, v);
}

// unpack writes the inputs [from, from + count) of two tiles, as (count, tileOut). count is a multiple of
// the group, or the other way round.
template <Form F>
INLINE void unpack(const PackedWork& w, int tile, int from, int count, float* to) {
	const Matrix& m = *w.matrix;
	constexpr int inputs = unitInputs(F), step = inputs * bitsOf(F) / 32 * lanes;
	for (int v = 0; v < tileOut / L; v++, to += L) {
		const uint32_t* own = vectorAt(w, tile * parts + v);
		for (int k = from; k < from + count;) {
			const int end = std::min(from + count, (k / m.group + 1) * m.group);
			const uint32_t* at = own + k / m.group * m.groupWords;
			const Factors f = Factors::at(m.scales, at);
			at += m.scaleWords + k % m.group / inputs * step;
			for (; k < end; k += inputs, at += step)
#pragma GCC unroll 32
				for (int e = 0; e < inputs; e++)
					*(floats*)(to + (k - from + e) * tileOut) = weightAt<F>(at, e, f);
		}
	}
}

// multiply multiplies all rows of w with its tiles. Few rows read the matrix as it is packed. Many share
// tiles of it that are unpacked.
template <Form F>
void multiply(const PackedWork& w) {
	if (w.rows <= unpackedRows) { // registers hold the sums of R rows and V vectors
		int row = 0;
		if constexpr (L == 16) {
			multiplyRows<F, 8, 2>(w, row);
			multiplyRows<F, 4, 4>(w, row);
			multiplyRows<F, 2, 4>(w, row);
		} else {
			multiplyRows<F, 4, 2>(w, row);
			multiplyRows<F, 2, 2>(w, row);
		}
		multiplyRows<F, 1, L == 8 ? 2 : 4>(w, row);
		return;
	}
	const Matrix& m = *w.matrix;
	alignas(64) float tile[tileIn * tileOut];
	for (int at = w.first; at < w.last; at += tileOut / lanes)
		for (int from = 0; from < m.in; from += tileIn) {
			const int count = std::min(m.in - from, tileIn);
			unpack<F>(w, at, from, count, tile);
			const TileWork rows{w.x, w.y, w.rows, at * lanes, std::min(m.out - at * lanes, tileOut), 1};
			addTile<L, 2, L == 16 ? 8 : 4>(rows, from, count, tile);
		}
}
