// The kernel for processors with AVX2. Clang can't compile part of a program for them this way.
#if !defined(__clang__)
#pragma GCC target("avx2,f16c")
#define NAMED(name) name##_avx2
#include "kernel.h"
#endif
