#pragma once

#include "operation_linux.h"

#ifdef __cplusplus

#include <stdexcept>

#include "mlx/primitives.h"

// A RowFunction is an operation that makes each row of its first input, and a second one that is a weight or missing,
// a row of its output. A product whose input is made so computes the rows as it reads them.
struct RowFunction {
	// apply writes a row of n elements. weight may be null.
	virtual void apply(const float* x, const float* weight, int64_t n, float* y) const = 0;

	// isWhole reports whether apply is all that the operation does.
	virtual bool isWhole() const { return true; }

	virtual ~RowFunction() = default;

	// of returns the operation that will make x, or null: it is another one, or has made x.
	static std::shared_ptr<const RowFunction> of(const mlx::core::array& x) {
		if (!isPending(x) || x.inputs().size() > 2 || x.inputs().size() == 2 && x.inputs()[1].ndim() != 1)
			return nullptr;
		const auto* f = dynamic_cast<const RowFunction*>(&x.primitive());
		if (f == nullptr || !f->isWhole())
			return nullptr;
		return {x.primitive_ptr(), f};
	}
};

// An Addable is an operation that can add one more input to its result.
struct Addable {
	// withSummand returns the operation that does so, or null if it cannot.
	virtual std::shared_ptr<mlx::core::Primitive> withSummand() = 0;

	virtual ~Addable() = default;
};

// denseVector returns the data of an array that lies densely.
inline const float* denseVector(const mlx::core::array& x) {
	if (!x.flags().row_contiguous)
		throw std::runtime_error("Fused operations take weights and tables that lie densely.");
	return x.data<float>();
}

extern "C" {
#endif

// tandem_rms_norm makes the array of Scope.FusedRMSNorm. weight may be null.
int tandem_rms_norm(mlx_array* out, mlx_array x, mlx_array weight, float eps, tandem_operation* how);

// tandem_sum makes the array of Scope.FusedAdd.
int tandem_sum(mlx_array* out, mlx_array x, mlx_array y, tandem_operation* how);

// tandem_rotate makes the array of Scope.Rotate.
int tandem_rotate(mlx_array* out, mlx_array x, mlx_array cos, mlx_array sin, tandem_operation* how);

// tandem_rotated_heads makes the three arrays of Scope.RotatedHeads. norm may be null, cos and sin both.
enum { tandem_max_head = 512 }; // elements
typedef struct {
	mlx_array x, norm, cos, sin;
	float eps;
	int queries, keys, dim; // heads, and their elements
} tandem_heads;
int tandem_rotated_heads(mlx_array out[3], const tandem_heads* heads, tandem_operation* how);

// tandem_gated makes the array of Scope.Gated: the gate times up, over 1 + 2^(gate (a + b gate^2)).
int tandem_gated(mlx_array* out, mlx_array x, float a, float b, tandem_operation* how);

#ifdef __cplusplus
}
#endif
