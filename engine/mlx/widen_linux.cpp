// Weights of 16 bits become float32 on the CPU, as an operation of MLX. MLX's own cast turns one
// element at a time on one thread, which takes longer than to read them from a file.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include <sys/mman.h>

#include "widen_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/ops.h"
#include "mlx/primitives.h"
#include "helpers_linux.h"

namespace {

namespace core = mlx::core;

constexpr int64_t piece = 1 << 16; // elements that one thread takes at a time

// widenHalves turns float16. Shifted by 13 bits its exponent is 112 too small. A product with a power
// of two mends that, also where there is no leading one. Infinities and NaN are told apart before.
INLINE void widenHalves(const uint16_t* x, float* y, int64_t n) {
	for (int64_t i = 0; i < n; i++) {
		const uint32_t size = x[i] & 0x7fff, sign = uint32_t(x[i] & 0x8000) << 16;
		uint32_t bits = size << 13;
		float v;
		std::memcpy(&v, &bits, 4);
		v *= 0x1p112f;
		std::memcpy(&bits, &v, 4);
		bits |= sign | (size >= 0x7c00 ? 0x7f800000 : 0);
		std::memcpy(&y[i], &bits, 4);
	}
}

// widenBrains turns bfloat16, which is the first half of a float32.
INLINE void widenBrains(const uint16_t* x, float* y, int64_t n) {
	for (int64_t i = 0; i < n; i++) {
		const uint32_t bits = uint32_t(x[i]) << 16;
		std::memcpy(&y[i], &bits, 4);
	}
}

INLINE void widen(bool halves, const uint16_t* x, float* y, int64_t n) {
	halves ? widenHalves(x, y, n) : widenBrains(x, y, n);
}

// takeLargePages asks for memory in pages of 2 MiB, which the system provides in a fraction of the time
// that small ones take. It may decline.
void takeLargePages(void* memory, size_t bytes) {
	const uintptr_t page = 2 << 20, at = reinterpret_cast<uintptr_t>(memory);
	const uintptr_t begin = (at + page - 1) / page * page, end = (at + bytes) / page * page;
	if (begin < end)
		madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

using Widening = void (*)(bool halves, const uint16_t* x, float* y, int64_t n);

void widenPlainly(bool halves, const uint16_t* x, float* y, int64_t n) { widen(halves, x, y, n); }

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw"))) void widenAVX512(bool halves, const uint16_t* x, float* y,
	int64_t n) {
	widen(halves, x, y, n);
}

__attribute__((target("avx2"))) void widenAVX2(bool halves, const uint16_t* x, float* y, int64_t n) {
	widen(halves, x, y, n);
}
#endif

Widening wideningOn(Target target) {
#if defined(__x86_64__)
	if (target == Target::AVX512)
		return __builtin_cpu_supports("avx512bw") ? widenAVX512 : widenAVX2;
	if (target == Target::AVX2)
		return widenAVX2;
#endif
	return widenPlainly;
}

class Widen : public core::Primitive {
public:
	Widen(core::Stream s, Target t, int threads)
		: Primitive(s), widen_(wideningOn(t)), threads_(threads) {}

	// in: x, row by row
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		const bool halves = in[0].dtype() == core::float16;
		const auto* x = in[0].data<uint16_t>();
		const int64_t n = in[0].size();
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		float* y = outs[0].data<float>();
		takeLargePages(y, outs[0].nbytes());
		core::cpu::get_command_encoder(stream()).dispatch([=, widen = widen_, threads = threads_] {
			Helpers::all().share(threads, (n + piece - 1) / piece, [=](int i) {
				const int64_t at = i * piece;
				widen(halves, x + at, y + at, std::min(piece, n - at));
			});
		});
	}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("Widen is for the CPU.");
	}
	const char* name() const override { return "Widen"; }

private:
	Widening widen_;
	int threads_;
};

} // namespace

int tandem_widen(mlx_array* out, mlx_array x, tandem_operation* how) {
	const auto in = core::contiguous(of(x), false, *static_cast<core::Stream*>(how->stream.ctx));
	return make<Widen>(out, in.shape(), {in}, how);
}
