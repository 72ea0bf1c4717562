// The kernel of packed_linux.cpp, which includes it once for each target. L numbers are a vector there.

typedef float floats __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * L), aligned(4), may_alias));
constexpr int parts = lanes / L; // vectors of a tile's outputs

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

// numberAt returns part p of the numbers of input e in a unit of a tile.
template <Form F>
INLINE floats numberAt(const uint32_t* unit, int e, int p) {
	constexpr int bits = bitsOf(F);
	const int word = e * bits / 32, shift = e * bits % 32;
	words w = *(const words*)(unit + word * lanes + p * L) >> shift;
	if (shift + bits > 32)
		w |= *(const words*)(unit + (word + 1) * lanes + p * L) << (32 - shift);
	return numbers<F>(w);
}

// A Factors holds scales and biases of a group of a tile.
struct Factors {
	floats scale[parts], bias[parts];

	static __attribute__((always_inline)) Factors at(Scales s, const uint32_t* group) {
		Factors f;
#pragma GCC unroll 4
		for (int p = 0; p < parts; p++) {
			const words* w = (const words*)(group + p * L);
			if (s == Scales::float32) {
				f.scale[p] = (floats)w[0];
				f.bias[p] = *(const floats*)(group + lanes + p * L);
			} else if (s == Scales::float16) {
				f.scale[p] = halves(w[0]);
				f.bias[p] = halves(w[0] >> 16);
			} else {
				f.scale[p] = (floats)(w[0] << 16);
				f.bias[p] = (floats)(w[0] & 0xffff0000);
			}
		}
		return f;
	}
};

// weightAt is numberAt, scaled.
template <Form F>
INLINE floats weightAt(const uint32_t* unit, int e, int p, const Factors& f) {
	return numberAt<F>(unit, e, p) * f.scale[p] + f.bias[p];
}

// multiplyTiles multiplies R rows with T tiles. Each sum grows by one product after the other, whatever R
// and T are. Tiles beyond the last one are computed as that, and not written.
template <Form F, int R, int T>
INLINE void multiplyTiles(const PackedWork& w, int row, int tile) {
	const Matrix& m = *w.matrix;
	constexpr int inputs = unitInputs(F), step = inputs * bitsOf(F) / 32 * lanes;
	floats sums[R][T][parts]{};
	const float* x[R];
	const uint32_t* at[T];
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
		x[r] = w.x[row + r];
#pragma GCC unroll 4
	for (int t = 0; t < T; t++)
		at[t] = w.blocks + std::min(tile + t, m.tiles - 1) * m.tileWords;
	for (int from = 0; from < m.in; from += m.group) {
		Factors f[T];
#pragma GCC unroll 4
		for (int t = 0; t < T; t++) {
			f[t] = Factors::at(m.scales, at[t]);
			at[t] += m.scaleWords;
		}
		for (int k = from; k < from + m.group; k += inputs) {
#pragma GCC unroll 32
			for (int e = 0; e < inputs; e++) {
				floats weight[T][parts];
#pragma GCC unroll 4
				for (int t = 0; t < T; t++)
#pragma GCC unroll 4
					for (int p = 0; p < parts; p++)
						weight[t][p] = weightAt<F>(at[t], e, p, f[t]);
#pragma GCC unroll 8
				for (int r = 0; r < R; r++) {
					const floats a = floats{} + x[r][k + e];
#pragma GCC unroll 4
					for (int t = 0; t < T; t++)
#pragma GCC unroll 4
						for (int p = 0; p < parts; p++)
							sums[r][t][p] += a * weight[t][p];
				}
			}
#pragma GCC unroll 4
			for (int t = 0; t < T; t++)
				at[t] += step;
		}
	}
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
#pragma GCC unroll 4
		for (int t = 0; t < T; t++) {
			float* y = w.y[row + r] + (tile + t) * lanes;
			const int outputs = m.out - (tile + t) * lanes;
			if (outputs >= lanes) {
#pragma GCC unroll 4
				for (int p = 0; p < parts; p++)
					*(floats*)(y + p * L) = sums[r][t][p];
			} else {
				for (int i = 0; i < outputs; i++)
					y[i] = sums[r][t][i / L][i % L];
			}
		}
}

// multiplyRows multiplies the next rows, R at once, with the tiles [first, last).
template <Form F, int R, int T>
INLINE void multiplyRows(const PackedWork& w, int first, int last, int& row) {
	for (; row + R <= w.rows; row += R)
		for (int tile = first; tile < last; tile += T)
			multiplyTiles<F, R, T>(w, row, tile);
}

// unpack writes the inputs [from, from + count) of two tiles, as (count, tileOut). count is a multiple of
// the group, or the other way round.
template <Form F>
INLINE void unpack(const PackedWork& w, int tile, int from, int count, float* to) {
	const Matrix& m = *w.matrix;
	constexpr int inputs = unitInputs(F), step = inputs * bitsOf(F) / 32 * lanes;
	for (int t = 0; t < tileOut / lanes; t++, to += lanes) {
		const uint32_t* own = w.blocks + std::min(tile + t, m.tiles - 1) * m.tileWords;
		for (int k = from; k < from + count;) {
			const int end = std::min(from + count, (k / m.group + 1) * m.group);
			const uint32_t* at = own + k / m.group * m.groupWords;
			const Factors f = Factors::at(m.scales, at);
			at += m.scaleWords + k % m.group / inputs * step;
			for (; k < end; k += inputs, at += step)
#pragma GCC unroll 32
				for (int e = 0; e < inputs; e++)
#pragma GCC unroll 4
					for (int p = 0; p < parts; p++)
						*(floats*)(to + (k - from + e) * tileOut + p * L) = weightAt<F>(at, e, p, f);
		}
	}
}

// multiply multiplies all rows of w with its tiles. Few rows read the matrix as it is packed. Many share
// tiles of it that are unpacked.
template <Form F>
void multiply(const PackedWork& w) {
	if (w.rows <= unpackedRows) { // registers hold the sums of R rows and T tiles
		int row = 0;
		if constexpr (L == 16) {
			multiplyRows<F, 8, 2>(w, w.first, w.last, row);
			multiplyRows<F, 4, 4>(w, w.first, w.last, row);
			multiplyRows<F, 2, 4>(w, w.first, w.last, row);
		} else
			multiplyRows<F, 4, 1>(w, w.first, w.last, row);
		multiplyRows<F, 1, L == 4 ? 1 : 4>(w, w.first, w.last, row);
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
