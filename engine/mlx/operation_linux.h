#pragma once

#include "mlx/c/mlx.h"

// A tandem_operation says how an operation of our own runs, and what is wrong if it cannot.
typedef struct {
	mlx_stream stream;
	int target; // one of tandem_targets; 0 is the fastest
	int threads; // that may share it
	char why[256];
} tandem_operation;

#ifdef __cplusplus

#include <cstdio>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "mlx/array.h"

#define INLINE static inline __attribute__((always_inline))

// A Target is a processor that a kernel is compiled for.
enum class Target { AVX512, AVX2, plain };

// targets returns those that the processor can run, the fastest first.
inline const std::vector<Target>& targets() {
	static const std::vector<Target> all = [] {
		std::vector<Target> list;
#if defined(__x86_64__)
		if (__builtin_cpu_supports("avx512f"))
			list.push_back(Target::AVX512);
		if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
			list.push_back(Target::AVX2);
#endif
		list.push_back(Target::plain);
		return list;
	}();
	return all;
}

inline const mlx::core::array& of(mlx_array a) {
	return *static_cast<mlx::core::array*>(a.ctx);
}

// isPending reports whether x is not computed yet, and a primitive will do it. Another operation may take that over.
inline bool isPending(const mlx::core::array& x) {
	return x.status() == mlx::core::array::Status::unscheduled && x.has_primitive();
}

// primitiveOf makes a primitive, whose first arguments are the stream, the target and the threads.
template <class Primitive, class... Arguments>
std::shared_ptr<Primitive> primitiveOf(const tandem_operation* how, Arguments... arguments) {
	return std::make_shared<Primitive>(*static_cast<mlx::core::Stream*>(how->stream.ctx),
		targets().at(how->target), how->threads, arguments...);
}

// failed notes what is wrong, and returns 1.
inline int failed(tandem_operation* how, const std::exception& e) {
	std::snprintf(how->why, sizeof how->why, "%s", e.what());
	return 1;
}

// make makes the float32 array of a primitive. It returns 0, or 1 after a failure.
template <class Primitive, class... Arguments>
int make(mlx_array* out, mlx::core::Shape shape, std::vector<mlx::core::array> in,
	tandem_operation* how, Arguments... arguments) try {
	out->ctx = new mlx::core::array(std::move(shape), mlx::core::float32,
		primitiveOf<Primitive>(how, arguments...), std::move(in));
	return 0;
} catch (const std::exception& e) {
	return failed(how, e);
}

extern "C" {
#endif

// tandem_targets returns how many targets of each operation the processor can run.
int tandem_targets(void);

#ifdef __cplusplus
}
#endif
