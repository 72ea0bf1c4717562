// Vectors of 32 bytes. A processor with shorter ones takes two. All compute the same bits: no
// product is fused with a sum.
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float floats __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(32)));
typedef int32_t ints __attribute__((vector_size(32)));
typedef uint64_t longs __attribute__((vector_size(32)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef uint16_t shorts __attribute__((vector_size(32)));
typedef uint8_t bytes __attribute__((vector_size(32)));
typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef uint8_t bytes16 __attribute__((vector_size(16)));

// PICK returns eight lanes of v by their constant numbers, PICK_BYTES its bytes.
#if defined(__clang__)
#define PICK(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#define PICK_BYTES PICK
#else
#define PICK(v, ...) __builtin_shuffle(v, (ints){__VA_ARGS__})
#define PICK_BYTES(v, ...) __builtin_shuffle(v, (bytes){__VA_ARGS__})
#endif

INLINE floats all(float x) { return (floats){x, x, x, x, x, x, x, x}; }

INLINE words load(const uint8_t* from) {
	words v;
	memcpy(&v, from, sizeof v);
	return v;
}

INLINE floats toFloats(words v) { return __builtin_convertvector((ints)v, floats); }

// toWords rounds towards 0.
INLINE words toWords(floats v) { return (words)__builtin_convertvector(v, ints); }

// choose returns lanes of a where a mask has ones, else lanes of b.
INLINE words choose(ints mask, words a, words b) {
#if defined(__AVX2__)
	return (words)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)mask);
#else
	return ((words)mask & a) | (~(words)mask & b);
#endif
}

INLINE floats larger(floats a, floats b) {
#if defined(__AVX2__)
	return (floats)_mm256_max_ps((__m256)a, (__m256)b);
#else
	return (floats)choose(a > b, (words)a, (words)b);
#endif
}

INLINE floats smaller(floats a, floats b) {
#if defined(__AVX2__)
	return (floats)_mm256_min_ps((__m256)a, (__m256)b);
#else
	return (floats)choose(a < b, (words)a, (words)b);
#endif
}

INLINE floats size(floats v) { return (floats)((words)v & 0x7fffffff); }

// eightBytes returns in each lane one of eight bytes, and others above it, all shifted to the right.
INLINE words eightBytes(const uint8_t* from, words shifts) {
	uint64_t x;
	memcpy(&x, from, sizeof x);
	words v = (words)(longs){x, x, x, x};
	return PICK(v, 0, 0, 0, 0, 1, 1, 1, 1) >> (shifts + (words){0, 8, 16, 24, 0, 8, 16, 24});
}

// addTo adds eight floats to four doubles.
INLINE void addTo(doubles* sums, floats v) {
	typedef float floats4 __attribute__((vector_size(16)));
	floats4 low, high;
	memcpy(&low, &v, sizeof low);
	memcpy(&high, (const char*)&v + sizeof low, sizeof high);
	*sums += __builtin_convertvector(low, doubles) + __builtin_convertvector(high, doubles);
}
