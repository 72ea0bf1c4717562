// The kernel for any processor, and the choice between it and a faster one.
#define NAMED(name) name##_portable
#include "kernel.h"

#if defined(__x86_64__) && !defined(__clang__)
tandem_losses tandem_approximate_avx2(tandem_blocks b, tandem_form f);
#define HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
#else
#define tandem_approximate_avx2 tandem_approximate_portable
#define HAS_AVX2 0
#endif

tandem_losses tandem_approximate(tandem_blocks b, tandem_form f) {
	return HAS_AVX2 && !b.portable ? tandem_approximate_avx2(b, f) : tandem_approximate_portable(b, f);
}
