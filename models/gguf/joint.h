// Joined groups of parts, in MLX's affine form: an element y stands for scale*y + bias.
#pragma once

#include "approximate.h"
#include "superblock.h"

// A joint has in each lane how a part becomes some of a group: y = (at + slope*q) / 256, rounded
// down. All results fit the group's elements. Both are numbers of 16 bits that stand twice in a
// lane; a slope may be negative. The parts of a group have equal scales and biases.
typedef struct {
	words at, slope;
	floats scale, bias; // as they are stored
	words scaleBits, biasBits;
	ints bad; // lanes whose scale or bias is more than its type holds
} joint;

// A stored number is rounded to its type.
typedef struct {
	floats value;
	words bits;
	ints bad; // lanes that its type does not hold
} stored;

// roundTo rounds numbers to float16, to the even one of two, or leaves them. Those that are too large
// become 0.
INLINE stored roundTo(int scaleBytes, floats v) {
	if (scaleBytes == 4)
		return (stored){v, (words)v, (ints){0}};
	ints bad = (ints)((words)v & 0x7fffffff) >= 0x477ff000;
	v = (floats)((words)v & ~(words)bad);
#if defined(__F16C__)
	__m128i half = _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
	return (stored){(floats)_mm256_cvtph_ps(half), (words)_mm256_cvtepu16_epi32(half), bad};
#else
	words sign = (words)v & 0x80000000, size = (words)v ^ sign;
	words normal = (size + 0xfff + (size >> 13 & 1)) & ~0x1fffu;
	// One half has 2^-24 as its last bit, as have all float16 without a leading one.
	floats sum = (floats)size + 0.5f;
	ints small = (ints)size < 0x38800000;
	words value = choose(small, (words)(sum - 0.5f), normal);
	words bits = choose(small, (words)sum - 0x3f000000, (normal >> 13) - (112 << 10));
	return (stored){(floats)(value | sign), bits | sign >> 16, bad};
#endif
}

// widest returns in each lane the largest number of its group, which has 2 or 4 parts.
INLINE floats widest(int parts, floats v) {
	v = larger(v, PICK(v, 1, 0, 3, 2, 5, 4, 7, 6));
	return parts == 2 ? v : larger(v, PICK(v, 2, 3, 0, 1, 6, 7, 4, 5));
}

// finish sets at and slope, which are whole numbers, where a group has a scale.
INLINE void finish(joint* j, words at, words slope) {
	words some = (words)(j->scale != 0);
	at &= some & 0xffff;
	slope &= some & 0xffff;
	j->at = at | at << 16;
	j->slope = slope | slope << 16;
}

// joinCentred joins parts around a common zero. A step of the widest part is a whole number of
// steps of the joint.
INLINE joint joinCentred(int kind, const halfBlock* b, tandem_form f) {
	int parts = f.group / 16, middle = 1 << (f.bits - 1), zero = zeroOf(kind), steps = middle / zero;
	// A group's sign is that of its widest share, the first of two. So the key of a share is its
	// size, then that it comes first, then its sign. All keys are exact as floats.
	words negative = (words)b->share >> 31;
	words sizes = (words)((b->share ^ -(ints)negative) + (ints)negative);
	words order = parts == 2 ? (words){6, 4, 6, 4, 6, 4, 6, 4} : (words){6, 4, 2, 0, 6, 4, 2, 0};
	words key = toWords(widest(parts, toFloats(sizes << 3 | order | negative)));
	words sign = key << 31;
	floats width = toFloats(key >> 3);

	joint j;
	floats step = b->d * (floats)((words)width | sign);
	stored scale = roundTo(f.scaleBytes, step / (float)steps);
	stored bias = roundTo(f.scaleBytes, scale.value * (float)-middle);
	words some = (words)(width != 0);
	j.scale = (floats)((words)scale.value & some);
	j.bias = (floats)((words)bias.value & some);
	j.scaleBits = scale.bits & some;
	j.biasBits = bias.bits & some;
	j.bad = scale.bad | bias.bad;

	// Quotients are at most 2^13. One that is not whole is 2^-7 or more below the next whole number,
	// so rounding does not reach that.
	floats above = toFloats((sizes * steps << 8) + (key >> 4));
	words slope = toWords(above / larger(width, all(1)));
	words opposite = -(negative ^ (key & 1));
	slope = (slope ^ opposite) - opposite;
	// The element 0 of a part as wide and of the other sign would be one more than the largest. It
	// becomes the largest, and the slope is less by so little that no other element changes.
	int centre = (middle << 8) + 128, top = (256 << f.bits) - 1;
	ints steepest = (ints){0} - (top - centre + zero - 1) / zero, most = (ints){0} + top;
	slope = choose((ints)slope > steepest, slope, (words)steepest);
	ints at = centre - (ints)slope * zero;
	finish(&j, choose(at < most, (words)at, (words)most), slope);
	return j;
}

// joinShifted joins parts that each have a least value.
INLINE joint joinShifted(int kind, const halfBlock* b, tandem_form f) {
	int parts = f.group / 16;
	float most = (float)mostOf(kind), top = (float)((256 << f.bits) - 1);
	floats first = -b->least, last = first + b->step * most;
	floats low = -widest(parts, -smaller(first, last)), high = widest(parts, larger(first, last));

	joint j;
	stored scale = roundTo(f.scaleBytes, (high - low) / (float)((1 << f.bits) - 1));
	stored bias = roundTo(f.scaleBytes, low);
	j.scale = scale.value;
	j.bias = bias.value;
	j.scaleBits = scale.bits;
	j.biasBits = bias.bits;
	j.bad = scale.bad | bias.bad;

	floats steps = 256 / (floats)choose(j.scale != 0, (words)j.scale, (words)all(1));
	floats slope = b->step * steps, at = (first - j.bias) * steps + 128;
	words whole = toWords(smaller(size(slope) + 0.5f, all(top / most)));
	floats reach = toFloats(whole) * most;
	words down = (words)(slope < 0);
	floats least = (floats)((words)reach & down);
	at = smaller(larger(at, least), least + top - reach);
	finish(&j, toWords(at), (whole ^ down) - down);
	return j;
}

// leaveParts has groups of one part each, whose elements stay as they are.
INLINE joint leaveParts(int kind, const halfBlock* b) {
	joint j = {.scale = b->step, .bias = kind == q2_k ? -b->least : b->step * (float)-zeroOf(kind)};
	j.scaleBits = (words)j.scale;
	j.biasBits = (words)j.bias;
	j.slope = (words){0} + (256 | 256 << 16);
	return j;
}
