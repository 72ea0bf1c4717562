// The loops over super blocks. A file that includes this defines NAMED, which gives a function the
// name of the instruction set that the file is compiled for.
#pragma once

#include "joint.h"

// A sum has the losses of some parts. recent is what was added since the last settle.
typedef struct {
	doubles squares, steps;
	struct {
		floats squares, steps;
	} recent;
	floats most;
} sum;

// settle adds the recent sums of floats to those of doubles, which stay exact over many blocks.
INLINE void settle(sum* s) {
	addTo(&s->squares, s->recent.squares);
	addTo(&s->steps, s->recent.steps);
	s->recent.squares = s->recent.steps = all(0);
}

// twice returns in the two halves of a vector lanes 2i and 2i + 1.
INLINE words twice(words v, int i) {
	switch (i) {
	case 0:
		return PICK(v, 0, 0, 0, 0, 1, 1, 1, 1);
	case 1:
		return PICK(v, 2, 2, 2, 2, 3, 3, 3, 3);
	case 2:
		return PICK(v, 4, 4, 4, 4, 5, 5, 5, 5);
	default:
		return PICK(v, 6, 6, 6, 6, 7, 7, 7, 7);
	}
}

// put writes 32 elements, of which 16 stand in each vector, and returns where the next go. MLX has
// the lowest bits first.
INLINE uint8_t* put(uint8_t* to, int bits, shorts even, shorts odd) {
	switch (bits) {
	case 2: {
		words four = (words)(even | odd << 2);
		bytes8 v = __builtin_convertvector((four & 0xf) | (four >> 12 & 0xf0), bytes8);
		memcpy(to, &v, sizeof v);
		return to + 8;
	}
	case 4: {
		bytes16 v = __builtin_convertvector(even | odd << 4, bytes16);
		memcpy(to, &v, sizeof v);
		return to + 16;
	}
	case 5: {
		words ten = (words)(even | odd << 5);
		longs twenty = (longs)((ten & 0x3ff) | (ten >> 6 & 0xffc00));
		bytes v = (bytes)((twenty & 0xfffff) | (twenty >> 12 & 0xfffff00000));
		v = PICK_BYTES(v, 0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 24, 25,
			26, 27, 28, 16, 16, 16, 16, 16, 16);
		memcpy(to, &v, 10);
		memcpy(to + 10, (const uint8_t*)&v + 16, 10);
		return to + 20;
	}
	case 6: {
		words twelve = (words)(even | odd << 6);
		bytes v = (bytes)((twelve & 0xfff) | (twelve >> 4 & 0xfff000));
		v = PICK_BYTES(v, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0, 16, 17, 18, 20, 21, 22, 24, 25, 26,
			28, 29, 30, 16, 16, 16, 16);
		memcpy(to, &v, 12);
		memcpy(to + 12, (const uint8_t*)&v + 16, 12);
		return to + 24;
	}
	default: {
		shorts v = even | odd << 8;
		memcpy(to, &v, sizeof v);
		return to + 32;
	}
	}
}

// putScales writes the first of each so many lanes, and returns where the next go.
INLINE uint8_t* putScales(uint8_t* to, int parts, int scaleBytes, words v) {
	uint32_t lanes[8];
	memcpy(lanes, &v, sizeof lanes);
	for (int i = 0; i < 8; i += parts, to += scaleBytes)
		memcpy(to, &lanes[i], scaleBytes == 2 ? 2 : 4);
	return to;
}

// A difference is how far packed elements y are from the file's: scale*y - step*q + gap.
typedef struct {
	floats scale, step, gap;
} difference;

// square returns the squares of the errors of eight elements.
INLINE floats square(const difference* d, words q, words y) {
	floats v = toFloats(y) * d->scale - toFloats(q) * d->step + d->gap;
	return v * v;
}

// A target is where the elements of a half block and their losses go. Either may be null.
typedef struct {
	uint8_t* weights;
	sum* sum;
} target;

// A joined is half a block and its joint.
typedef struct {
	halfBlock half;
	joint joint;
} joined;

// putHalf maps the elements of half a block.
INLINE void putHalf(int kind, const joined* from, int bits, target* to) {
	const halfBlock* b = &from->half;
	const joint* j = &from->joint;
	floats zero = all((float)zeroOf(kind));
	floats gap = j->bias + (kind == q2_k ? b->least : b->step * zero);
	floats squares = all(0), most = all(0);
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		shorts q = (shorts)twoParts(kind, b, i), q0 = q & 0xff, q1 = q >> 8;
		shorts at = (shorts)twice(j->at, i), slope = (shorts)twice(j->slope, i);
		shorts y0 = (at + slope * q0) >> 8, y1 = (at + slope * q1) >> 8;
		if (to->sum) {
			difference d = {(floats)twice((words)j->scale, i), (floats)twice((words)b->step, i),
				(floats)twice((words)gap, i)};
			floats s0 = square(&d, (words)q0 & 0xffff, (words)y0 & 0xffff);
			floats s1 = square(&d, (words)q0 >> 16, (words)y0 >> 16);
			floats s2 = square(&d, (words)q1 & 0xffff, (words)y1 & 0xffff);
			floats s3 = square(&d, (words)q1 >> 16, (words)y1 >> 16);
			squares += (s0 + s1) + (s2 + s3);
			most = larger(most, larger(larger(s0, s1), larger(s2, s3)));
		}
		if (to->weights)
			to->weights = put(to->weights, bits, y0, y1);
	}
	if (to->sum) {
		to->sum->recent.squares += squares;
		to->sum->recent.steps += b->step * b->step * (spacing(kind) * spacing(kind));
		to->sum->most = larger(to->sum->most, most);
	}
}

// joinHalf opens and joins half a block, and puts the scales of its groups. It notes in bad what its
// types do not hold.
INLINE joined joinHalf(int kind, const uint8_t* block, int half, tandem_form f, tandem_blocks* to,
	ints* bad) {
	joined j;
	int finite = 1;
	j.half = openBlock(kind, block, half, &finite);
	if (f.group == 16)
		j.joint = leaveParts(kind, &j.half);
	else
		j.joint = kind == q2_k ? joinShifted(kind, &j.half, f) : joinCentred(kind, &j.half, f);
	*bad |= j.joint.bad | (finite - 1);
	if (to->scales) {
		to->scales = putScales(to->scales, f.group / 16, f.scaleBytes, j.joint.scaleBits);
		to->biases = putScales(to->biases, f.group / 16, f.scaleBytes, j.joint.biasBits);
	}
	return j;
}

// approximate is tandem_approximate for one kind.
INLINE tandem_losses approximate(int kind, tandem_blocks b, tandem_form f) {
	sum s = {0};
	target to = {b.weights, b.measured ? &s : NULL};
	ints bad = {0};
	if (b.count == 0)
		return (tandem_losses){.finite = 1};
	// Each half is joined before the elements of the half before it are mapped, so that a processor
	// does both at once: no step of a joint can begin before the last one is done.
	const uint8_t* block = b.blocks;
	joined first = joinHalf(kind, block, 0, f, &b, &bad);
	for (; b.count > 0; b.count--) {
		joined second = joinHalf(kind, block, 1, f, &b, &bad);
		if (to.weights || to.sum)
			putHalf(kind, &first, f.bits, &to);
		block += blockBytes(kind);
		if (b.count > 1)
			first = joinHalf(kind, block, 0, f, &b, &bad);
		if (to.weights || to.sum)
			putHalf(kind, &second, f.bits, &to);
		if (b.count % 16 == 0)
			settle(&s);
	}
	settle(&s);
	tandem_losses l = {.finite = 1};
	for (int i = 0; i < 8; i++) {
		l.finite &= bad[i] == 0;
		l.most = s.most[i] > l.most ? s.most[i] : l.most;
		if (i < 4) {
			l.squares += s.squares[i];
			l.steps += 16 * s.steps[i];
		}
	}
	return l;
}

tandem_losses NAMED(tandem_approximate)(tandem_blocks b, tandem_form f) {
	switch (b.kind) {
	case q2_k:
		return approximate(q2_k, b, f);
	case q3_k:
		return approximate(q3_k, b, f);
	case q6_k:
		return approximate(q6_k, b, f);
	default:
		return approximate(iq2, b, f);
	}
}
