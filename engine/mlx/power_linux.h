// Vectors of L numbers, and powers of two of them. What includes this defines L, and is compiled for a target.

typedef float floats __attribute__((vector_size(4 * L), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * L)));

// all returns a vector of x. Subtracting 0 changes no number, so it takes no instruction; adding 0 would, for -0.
INLINE floats all(float x) { return x - floats{}; }

// power returns 2^x for x of at most 0, exactly 1 for 0 and exactly 0 from -127 down.
INLINE floats power(floats x) {
	const floats round = all(12582912.0f); // 1.5 * 2^23: a float of this size has no fraction
	x = x < all(-127.0f) ? all(-127.0f) : x;
	floats whole = x + round;
	floats f = x - (whole - round);
	floats y = f * 0.0001546144469646172f + 0.0013400428177419153f; // off by at most 2e-8
	y = y * f + 0.00961805667852609f;
	y = y * f + 0.05550327226670944f;
	y = y * f + 0.24022650922288827f;
	y = y * f + 0.6931472067028321f;
	y = y * f + 1.0f;
	return (floats)((ints)y + ((ints)whole << 23));
}
