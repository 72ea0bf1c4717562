// Super blocks of Q2_K, Q3_K, Q6_K, IQ2_XS and IQ2_S, repacked for MLX. This is what Go calls.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A tandem_form says to what blocks are packed. Scales and biases are float16 of 2 bytes or float32
// of 4. Groups of 16, the parts of a block, keep its elements; then scaleBytes is 4.
typedef struct {
	int bits, group, scaleBytes;
} tandem_form;

// tandem_blocks are count whole blocks of a kind and where they go. The caller has checked that all
// lengths fit. No address needs to be a multiple of anything. weights may be null, and so may scales
// and biases, together.
typedef struct {
	int kind; // as GGUF numbers it; any other is an I kind of 2 bits, see superblock.h
	int portable; // whether to use no instructions that only some processors have
	size_t count;
	const uint8_t* blocks;
	uint8_t *weights, *scales, *biases;
	int measured; // whether the losses are asked for
} tandem_blocks;

// tandem_losses are of all elements of some blocks.
typedef struct {
	double squares; // sum of the squares of errors
	double most; // the largest of these
	double steps; // sum of the squares of the steps of each element
	int finite; // whether all scales and biases are, as they are stored
} tandem_losses;

// tandem_approximate packs blocks.
tandem_losses tandem_approximate(tandem_blocks b, tandem_form f);
