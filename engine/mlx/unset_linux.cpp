// Arrays on the CPU whose memory nobody has written yet, so that a file is read straight into it.
// mlx-c makes arrays of memory that is there already, and MLX copies it.

#include <cstdio>
#include <exception>
#include <utility>

#include "mlx/allocator.h"
#include "mlx/array.h"
#include "unset_linux.h"

namespace core = mlx::core;

int tandem_new_unset(mlx_array* out, const int* shape, int dim, mlx_dtype dtype, void** data,
	char* why, size_t size) try {
	const int none = 0;
	mlx_array like = mlx_array_new_data("", &none, 1, dtype); // knows the type in C++
	core::Dtype type = static_cast<core::array*>(like.ctx)->dtype();
	mlx_array_free(like);
	core::Shape extents(shape, shape + dim);
	size_t bytes = type.size();
	for (int n : extents)
		bytes *= n;
	core::allocator::Data memory = core::allocator::malloc(bytes);
	*data = memory.buffer().raw_ptr();
	out->ctx = new core::array(std::move(memory), std::move(extents), type);
	return 0;
} catch (const std::exception& e) {
	std::snprintf(why, size, "%s", e.what());
	return 1;
}
