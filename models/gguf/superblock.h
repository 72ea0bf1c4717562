// Super blocks of Q2_K, Q3_K, Q6_K, IQ2_XS and IQ2_S: 256 elements in 16 parts of 16. A part has a share
// of the block's scale. A half of a block is computed at once, with one lane for each of its eight parts.
// The elements of the last two kinds were looked up before (grid.go), and are one in a byte.
#pragma once

#include "lanes.h"

// These are the kinds of super blocks, as GGUF numbers them.
enum { q2_k = 10, q3_k = 11, q6_k = 14, iq2 = 17 };

// blockBytes returns the size of a block.
INLINE int blockBytes(int kind) {
	return kind == q2_k ? 84 : kind == q3_k ? 110 : kind == q6_k ? 210 : 274;
}

// zeroOf returns the element that stands for 0, or 0 if parts have offsets. mostOf returns the
// largest element.
INLINE int zeroOf(int kind) { return kind == q2_k ? 0 : kind == q3_k ? 4 : kind == q6_k ? 32 : 43; }
INLINE int mostOf(int kind) { return kind == q2_k ? 3 : kind == q3_k ? 7 : kind == q6_k ? 63 : 86; }

// spacing returns how far neighbours among the elements that a kind has are apart at most: an I kind
// of 2 bits has 0, 18, 35, 51, 68 and 86.
INLINE float spacing(int kind) { return kind == iq2 ? 18 : 1; }

// A halfBlock has the parts of half a block. An element q stands for step*(q - zero) - least.
typedef struct {
	ints share; // of the scale, of one part in each lane
	float d; // the scale
	floats step, least; // as llama.cpp rounds them
	words elements[4]; // still packed
} halfBlock;

// halfFloat returns the value of a float16, as if infinity and what is no number were large
// numbers. It clears ok for these.
INLINE float halfFloat(const uint8_t* from, int* ok) {
	uint16_t h;
	memcpy(&h, from, sizeof h);
	*ok &= (h & 0x7c00) != 0x7c00;
	uint32_t bits = (uint32_t)(h & 0x7fff) << 13;
	if (bits < 1 << 23) { // a fraction without a leading one
		float v = (float)(h & 0x3ff) * 0x1p-24f;
		return h & 0x8000 ? -v : v;
	}
	bits += 112 << 23 | (uint32_t)(h & 0x8000) << 16;
	float v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

// openBlock reads the shares of half a block and finds its elements. half is 0 or 1. It clears ok
// if a scale is not finite.
INLINE halfBlock openBlock(int kind, const uint8_t* block, int half, int* ok) {
	halfBlock b = {0};
	words none = {0};
	switch (kind) {
	case q2_k:
		// 16 bytes with a share of the scale and of the least value, 2 bits of each element, both
		// scales
		b.share = (ints)(eightBytes(block + 8 * half, none) & 15);
		b.d = halfFloat(block + 80, ok);
		b.least = halfFloat(block + 82, ok) * toFloats(eightBytes(block + 8 * half, none + 4) & 15);
		b.elements[0] = load(block + 16 + 32 * half);
		break;
	case q3_k: {
		// the highest bit of each element, its low 2 bits, the low 4 bits of all shares, their high
		// 2 bits, the scale
		uint32_t high;
		memcpy(&high, block + 104, sizeof high);
		words low = eightBytes(block + 96, none + 4 * half) & 15;
		words top = (none + high) >> ((words){0, 8, 16, 24, 2, 10, 18, 26} + 4 * half) & 3;
		b.share = (ints)(low | top << 4) - 32;
		b.d = halfFloat(block + 108, ok);
		b.elements[0] = load(block + 32 + 32 * half);
		b.elements[1] = load(block) >> 4 * half;
		break;
	}
	case q6_k:
		// the low 4 bits of each element, their high 2 bits, signed bytes of shares, the scale
		b.share = (ints)(eightBytes(block + 192 + 8 * half, none) << 24) >> 24;
		b.d = halfFloat(block + 208, ok);
		b.elements[0] = load(block + 64 * half);
		b.elements[1] = load(block + 64 * half + 32);
		b.elements[2] = load(block + 128 + 32 * half);
		break;
	default:
		// the elements, shares of an eighth of the scale, the scale
		b.share = (ints)(eightBytes(block + 256 + 8 * half, none) & 31);
		b.d = halfFloat(block + 272, ok) * 0.125f;
		for (int i = 0; i < 4; i++)
			b.elements[i] = load(block + 128 * half + 32 * i);
	}
	b.step = b.d * toFloats((words)b.share);
	return b;
}

// twoParts returns the elements of parts 2i and 2i + 1, one in a byte.
INLINE words twoParts(int kind, const halfBlock* b, int i) {
	const words* e = b->elements;
	switch (kind) {
	case q2_k:
		return e[0] >> 2 * i & 0x03030303;
	case q3_k:
		return (e[0] >> 2 * i & 0x03030303) | (e[1] >> i & 0x01010101) << 2;
	case q6_k:
		return (e[i % 2] >> i / 2 * 4 & 0x0f0f0f0f) | (e[2] >> 2 * i & 0x03030303) << 4;
	default:
		return e[i];
	}
}
