// The kernel of packed_matmul_linux.cpp, which includes it once for each target. L numbers are a
// vector there.

typedef float floats __attribute__((vector_size(4 * L), aligned(4), may_alias));

// unpackNumbers returns the L numbers of B bits that begin at a byte. Of two numbers in a byte the
// first has the low bits.
template <int B>
INLINE floats unpackNumbers(const uint8_t* at) {
	typedef int32_t ints __attribute__((vector_size(4 * L)));
	ints numbers;
#if defined(PACKED_AVX512)
	if (B == 8) {
		numbers = (ints)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)at));
	} else { // a byte in 64 bits becomes its two numbers
		const __m512i two = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i*)at));
		numbers = (ints)_mm512_or_si512(two, _mm512_slli_epi64(two, 28)) & 15;
	}
#elif defined(PACKED_AVX2)
	if (B == 8) {
		numbers = (ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)at));
	} else {
		const __m256i two = _mm256_cvtepu8_epi64(_mm_loadu_si32(at));
		numbers = (ints)_mm256_or_si256(two, _mm256_slli_epi64(two, 28)) & 15;
	}
#else
	for (int i = 0; i < L; i++)
		numbers[i] = B == 8 ? at[i] : at[i / 2] >> 4 * (i % 2) & 15;
#endif
	return __builtin_convertvector(numbers, floats);
}

// sumLanes returns the sum of all lanes, in the same order on each target.
INLINE float sumLanes(const floats* sums) {
	typedef float four __attribute__((vector_size(16), may_alias));
	alignas(64) float all[lanes];
	for (int i = 0; i < lanes / L; i++)
		*(floats*)(all + i * L) = sums[i];
	const four* quarter = (const four*)all;
	const four sum = (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
	return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// multiplyOutputs multiplies R rows with O outputs. A row's sums do not depend on R and O.
template <int B, int R, int O>
INLINE void multiplyOutputs(const Work& w, int row, int output) {
	const Matrix& m = *w.matrix;
	constexpr int P = lanes / L; // vectors of an output's sums
	floats sums[R][O][P]{};
	const float* x[R];
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
		x[r] = w.x + int64_t(row + r) * m.in;
	for (int g = 0; g * m.group < m.in; g++) {
		float scale[O], bias[O];
#pragma GCC unroll 8
		for (int o = 0; o < O; o++) {
			scale[o] = m.scales[(output + o) * m.scaleRow + g];
			bias[o] = m.biases[(output + o) * m.biasRow + g];
		}
		for (int k = g * m.group; k < (g + 1) * m.group; k += lanes)
#pragma GCC unroll 8
			for (int o = 0; o < O; o++)
#pragma GCC unroll 4
				for (int p = 0; p < P; p++) {
					const int64_t at = k + p * L;
					const uint8_t* words = m.words + (output + o) * m.row + at * B / 8;
					const floats weight = unpackNumbers<B>(words) * scale[o] + bias[o];
#pragma GCC unroll 8
					for (int r = 0; r < R; r++)
						sums[r][o][p] += *(const floats*)(x[r] + at) * weight;
				}
	}
#pragma GCC unroll 8
	for (int r = 0; r < R; r++)
#pragma GCC unroll 8
		for (int o = 0; o < O; o++)
			w.y[int64_t(row + r) * m.out + output + o] = sumLanes(sums[r][o]);
}

// multiplyRows multiplies the next rows, R at once, with all outputs of w.
template <int B, int R, int O>
INLINE void multiplyRows(const Work& w, int& row) {
	for (; row + R <= w.rows; row += R) {
		int output = w.first;
		for (; output + O <= w.last; output += O)
			multiplyOutputs<B, R, O>(w, row, output);
		for (; output < w.last; output++)
			multiplyOutputs<B, R, 1>(w, row, output);
	}
}

// multiply multiplies all rows of w. Registers hold the sums of 4 rows and O outputs.
template <int B, int O>
void multiply(const Work& w) {
	int row = 0;
	multiplyRows<B, 4, O>(w, row);
	multiplyRows<B, 2, O>(w, row);
	multiplyRows<B, 1, O>(w, row);
}
