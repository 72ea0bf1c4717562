// Norms, rotations, gates and sums in float32 on the CPU, each as one operation of MLX. In MLX's operations they
// are three to seven, and between two products of a few rows an operation's own time is most of it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "fused_linux.h"
#include "helpers_linux.h"
#include "mlx/allocator.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/ops.h"
#include "mlx/primitives.h"

namespace {

namespace core = mlx::core;

constexpr double worthThreads = 1 << 15; // elements
constexpr int lanes = 16; // sums of the squares of a row

// Rows are those of an array of 4 axes, whose last one is a row. Strides are in elements.
struct Rows {
	int64_t shape[4] = {1, 1, 1, 1}, strides[4] = {0, 0, 0, 1};
	const float* data;

	explicit Rows(const core::array& x) : data(x.data<float>()) {
		for (int i = 0, n = x.ndim(); i < n; i++) {
			shape[4 - n + i] = x.shape(i);
			strides[4 - n + i] = x.strides(i);
		}
	}
	int64_t count() const { return shape[0] * shape[1] * shape[2]; }
	int64_t width() const { return shape[3]; }
	int64_t element() const { return strides[3]; }
	int64_t axis1(int64_t row) const { return row / shape[2] % shape[1]; }
	int64_t axis2(int64_t row) const { return row % shape[2]; }
	const float* at(int64_t row) const {
		return data + row / shape[2] / shape[1] * strides[0] + axis1(row) * strides[1] +
			axis2(row) * strides[2];
	}
	// dense returns the row, in buffer unless its elements lie side by side.
	const float* dense(int64_t row, std::vector<float>& buffer) const {
		const float* x = at(row);
		if (element() == 1)
			return x;
		for (int64_t i = 0; i < width(); i++)
			buffer[i] = x[i * element()];
		return buffer.data();
	}
};

// perRow is an operation that computes each row of its output by itself.
template <class Work>
void perRow(core::Stream stream, int threads, const Rows& x, int64_t width, Work work) {
	if (x.element() != 1)
		threads = 1; // which has the buffer
	core::cpu::get_command_encoder(stream).dispatch([=]() mutable {
		constexpr int piece = 8;
		const int64_t rows = x.count();
		const bool alone = double(rows) * width < worthThreads;
		const int pieces = (rows + piece - 1) / piece;
		Helpers::all().share(alone ? 1 : threads, pieces, [&](int i) {
			for (int64_t r = int64_t(i) * piece; r < std::min(rows, int64_t(i + 1) * piece); r++)
				work(r);
		});
	});
}

// A Kernel has the functions for a target.
struct Kernel {
	void (*normalize)(const float*, const float*, float, int64_t, float*);
	void (*rotate)(const float*, const float*, const float*, int64_t, int64_t, float*);
	void (*gate)(const float*, float, float, int64_t, float*);
};

// Each target has the same kernel, in vectors of L numbers. What it tells the compiler about the processor has to
// stand around the kernel.
namespace plain {
constexpr int L = 8;
#include "fused_kernel_linux.h"
} // namespace plain

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr int L = 8;
#include "fused_kernel_linux.h"
} // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
namespace avx512 {
constexpr int L = 16;
#include "fused_kernel_linux.h"
} // namespace avx512
#pragma GCC pop_options
#endif

// kernelOn returns the functions for a target.
const Kernel& kernelOn(Target target) {
#if defined(__x86_64__)
	if (target == Target::AVX512)
		return avx512::kernel;
	if (target == Target::AVX2)
		return avx2::kernel;
#endif
	return plain::kernel;
}

class Fused : public core::Primitive {
public:
	Fused(core::Stream s, Target t, int threads) : Primitive(s), kernel_(kernelOn(t)), threads_(threads) {}
	void eval_gpu(const std::vector<core::array>&, std::vector<core::array>&) override {
		throw std::runtime_error("Fused operations are for the CPU.");
	}

protected:
	const Kernel& kernel_;
	int threads_;
};

class RMSNorm : public Fused, public RowFunction, public Addable {
public:
	RMSNorm(core::Stream s, Target t, int threads, float eps, bool weighted, bool sums)
		: Fused(s, t, threads), target_(t), eps_(eps), weighted_(weighted), sums_(sums) {}

	// in: x (..., n); weight (n), or (heads, 1, n) for x (1, heads, rows, n); (..., n) or (n) to add
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		const Rows x(in[0]);
		const float* weight = weighted_ ? denseVector(in[1]) : nullptr;
		const bool own = weighted_ && in[1].ndim() == 3; // of each head
		const Rows summand(in[sums_ ? in.size() - 1 : 0]);
		perRow(stream(), threads_, x, x.width(),
			[x, weight, own, summand, sums = sums_, eps = eps_, k = &kernel_, y = outs[0].data<float>(),
				buffer = std::vector<float>(x.element() == 1 ? 0 : x.width())](int64_t r) mutable {
				const float* w = own ? weight + x.axis1(r) * x.width() : weight;
				float* to = y + r * x.width();
				k->normalize(x.dense(r, buffer), w, eps, x.width(), to);
				if (!sums)
					return;
				const float* add = summand.at(r);
				for (int64_t i = 0; i < x.width(); i++)
					to[i] += add[i * summand.element()];
			});
	}
	void apply(const float* x, const float* weight, int64_t n, float* y) const override {
		kernel_.normalize(x, weight, eps_, n, y);
	}
	bool isWhole() const override { return !sums_; }
	std::shared_ptr<core::Primitive> withSummand() override {
		if (sums_)
			return nullptr;
		return std::make_shared<RMSNorm>(stream(), target_, threads_, eps_, weighted_, true);
	}
	const char* name() const override { return "FusedRMSNorm"; }

private:
	Target target_;
	float eps_;
	bool weighted_, sums_;
};

class Rotate : public Fused {
public:
	using Fused::Fused;

	// in: x (1, heads, n, D), cos and sin (n, dims)
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		const Rows x(in[0]);
		perRow(stream(), threads_, x, x.width(),
			[x, cos = denseVector(in[1]), sin = denseVector(in[2]), dims = int64_t(in[1].shape(1)),
				k = &kernel_, y = outs[0].data<float>(),
				buffer = std::vector<float>(x.element() == 1 ? 0 : x.width())](int64_t r) mutable {
				const int64_t at = x.axis2(r) * dims;
				k->rotate(x.dense(r, buffer), cos + at, sin + at, dims, x.width(), y + r * x.width());
			});
	}
	const char* name() const override { return "Rotate"; }
};

class RotatedHeads : public Fused {
public:
	RotatedHeads(core::Stream s, Target t, int threads, const tandem_heads& h)
		: Fused(s, t, threads), queries_(h.queries), keys_(h.keys), dim_(h.dim), eps_(h.eps),
		  norm_(h.norm.ctx != nullptr), turns_(h.cos.ctx != nullptr) {}

	// in: x (rows, (queries + 2 keys) dim), norm (queries + keys, 1, dim), cos and sin (rows, dims)
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		float* to[3];
		for (int i = 0; i < 3; i++) {
			outs[i].set_data(core::allocator::malloc(outs[i].nbytes()));
			to[i] = outs[i].data<float>();
		}
		const Rows x(in[0]);
		const float* norm = norm_ ? denseVector(in[1]) : nullptr;
		const size_t tables = norm_ ? 2 : 1;
		const float* cos = turns_ ? denseVector(in[tables]) : nullptr;
		const float* sin = turns_ ? denseVector(in[tables + 1]) : nullptr;
		const int64_t dims = turns_ ? in[tables].shape(1) : 0;
		perRow(stream(), threads_, x, x.width(),
			[=, rows = x.count(), q = queries_, kv = keys_, dim = dim_, eps = eps_, k = &kernel_,
				buffer = std::vector<float>(x.element() == 1 ? 0 : x.width())](int64_t r) mutable {
				const float* row = x.dense(r, buffer);
				for (int64_t h = 0; h < q + 2 * kv; h++, row += dim) {
					const float* head = row;
					float* y = h < q ? to[0] + (h * rows + r) * dim
						: h < q + kv ? to[1] + ((h - q) * rows + r) * dim
									 : to[2] + ((h - q - kv) * rows + r) * dim;
					float normed[tandem_max_head];
					if (h < q + kv && norm != nullptr) {
						k->normalize(row, norm + h * dim, eps, dim, normed);
						head = normed;
					}
					if (h < q + kv && cos != nullptr)
						k->rotate(head, cos + r * dims, sin + r * dims, dims, dim, y);
					else
						std::copy(head, head + dim, y);
				}
			});
	}
	const char* name() const override { return "RotatedHeads"; }

private:
	int queries_, keys_, dim_;
	float eps_;
	bool norm_, turns_;
};

class Gated : public Fused, public RowFunction {
public:
	Gated(core::Stream s, Target t, int threads, float a, float b) : Fused(s, t, threads), a_(a), b_(b) {}

	// in: x (..., 2n), gate before up
	void eval_cpu(const std::vector<core::array>& in, std::vector<core::array>& outs) override {
		outs[0].set_data(core::allocator::malloc(outs[0].nbytes()));
		const Rows x(in[0]);
		const int64_t n = x.width() / 2;
		perRow(stream(), threads_, x, n,
			[x, n, a = a_, b = b_, k = &kernel_, y = outs[0].data<float>(),
				buffer = std::vector<float>(x.element() == 1 ? 0 : x.width())](int64_t r) mutable {
				k->gate(x.dense(r, buffer), a, b, n, y + r * n);
			});
	}
	void apply(const float* x, const float*, int64_t n, float* y) const override { kernel_.gate(x, a_, b_, n, y); }
	const char* name() const override { return "Gated"; }

private:
	float a_, b_;
};

} // namespace

int tandem_rms_norm(mlx_array* out, mlx_array x, mlx_array weight, float eps, tandem_operation* how) {
	std::vector<core::array> in{of(x)};
	if (weight.ctx != nullptr)
		in.push_back(of(weight));
	return make<RMSNorm>(out, of(x).shape(), std::move(in), how, eps, weight.ctx != nullptr, false);
}

int tandem_sum(mlx_array* out, mlx_array x, mlx_array y, tandem_operation* how) try {
	const core::array &a = of(x), &b = of(y);
	std::shared_ptr<core::Primitive> sum;
	const bool fits = a.shape() == b.shape() || a.ndim() == 1 && a.shape(0) == b.shape(-1);
	if (fits && a.dtype() == core::float32 && isPending(b))
		if (auto* addable = dynamic_cast<Addable*>(&b.primitive()))
			sum = addable->withSummand();
	if (sum == nullptr) {
		out->ctx = new core::array(core::add(a, b, *static_cast<core::Stream*>(how->stream.ctx)));
		return 0;
	}
	std::vector<core::array> in = b.inputs();
	in.push_back(a);
	out->ctx = new core::array(b.shape(), core::float32, sum, std::move(in));
	return 0;
} catch (const std::exception& e) {
	return failed(how, e);
}

int tandem_rotate(mlx_array* out, mlx_array x, mlx_array cos, mlx_array sin, tandem_operation* how) {
	return make<Rotate>(out, of(x).shape(), {of(x), of(cos), of(sin)}, how);
}

int tandem_rotated_heads(mlx_array out[3], const tandem_heads* h, tandem_operation* how) try {
	std::vector<core::array> in{of(h->x)};
	for (mlx_array a : {h->norm, h->cos, h->sin})
		if (a.ctx != nullptr)
			in.push_back(of(a));
	auto primitive = primitiveOf<RotatedHeads>(how, *h);
	const int rows = of(h->x).shape(0);
	auto arrays = core::array::make_arrays(
		{{1, h->queries, rows, h->dim}, {1, h->keys, rows, h->dim}, {1, h->keys, rows, h->dim}},
		{core::float32, core::float32, core::float32}, primitive, in);
	for (int i = 0; i < 3; i++)
		out[i].ctx = new core::array(std::move(arrays[i]));
	return 0;
} catch (const std::exception& e) {
	return failed(how, e);
}

int tandem_gated(mlx_array* out, mlx_array x, float a, float b, tandem_operation* how) {
	auto shape = of(x).shape();
	shape.back() /= 2;
	return make<Gated>(out, std::move(shape), {of(x)}, how, a, b);
}
