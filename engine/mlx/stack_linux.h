#pragma once

#include <cstdint>
#include <vector>

#include "helpers_linux.h"
#include "mlx/array.h"

// A Stack has the rows of a product by the matrix that each is multiplied with: the one matrix there
// is, or some of several.
struct Stack {
	std::vector<const float*> x; // of each row
	std::vector<float*> y;
	std::vector<int> ends; // of each matrix, after its last row
	int64_t xStride; // of elements

	// Stack has the rows x (rows, in) of one matrix.
	Stack(const mlx::core::array& x, mlx::core::array& y) : ends{x.shape(0)}, xStride(x.strides(1)) {
		const int64_t out = y.shape(1);
		for (int r = 0; r < x.shape(0); r++) {
			this->x.push_back(x.data<float>() + r * x.strides(0));
			this->y.push_back(y.data<float>() + r * out);
		}
	}

	// Stack has the rows x (n, k or 1, 1, in) of several matrices. chosen (n, k) has 32-bit integers
	// below their number. It may not be computed yet; sort reads it.
	Stack(const mlx::core::array& x, const mlx::core::array& chosen, int matrices,
		mlx::core::array& y)
		: x(chosen.size()), y(chosen.size()), ends(matrices + 1), xStride(x.strides(3)),
		  from(x.data<float>()), xRow(x.strides(0)), xOwn(x.shape(1) == 1 ? 0 : x.strides(1)),
		  to(y.data<float>()), out(y.shape(3)), ids(chosen.data<uint32_t>()),
		  idRow(chosen.strides(0)), id(chosen.strides(1)), n(chosen.shape(0)), k(chosen.shape(1)) {}

	// sort sorts the rows of several matrices by their matrix, by counting.
	void sort() noexcept {
		if (ids == nullptr)
			return;
		for (int i = 0; i < n; i++)
			for (int j = 0; j < k; j++)
				ends[ids[i * idRow + j * id] + 1]++;
		for (size_t m = 1; m < ends.size(); m++)
			ends[m] += ends[m - 1];
		for (int i = 0; i < n; i++)
			for (int j = 0; j < k; j++) {
				const int at = ends[ids[i * idRow + j * id]]++;
				x[at] = from + i * xRow + j * xOwn;
				y[at] = to + (int64_t(i) * k + j) * out;
			}
		ends.pop_back(); // each matrix's beginning has become its end
	}

	// begin returns the first row of matrix m.
	int begin(int m) const { return m > 0 ? ends[m - 1] : 0; }

	// share calls work(i) for all pieces of all matrices, on so many threads if there is enough to do.
	// A row takes so many products.
	template <class Work>
	void share(int threads, double products, int pieces, const Work& work) const noexcept {
		const bool alone = double(x.size()) * products < worthThreads;
		Helpers::all().share(alone ? 1 : threads, pieces * int(ends.size()), work);
	}

private:
	static constexpr double worthThreads = 1 << 17; // products

	const float* from = nullptr;
	int64_t xRow = 0, xOwn = 0; // strides; xOwn is 0 where the choices of a row share it
	float* to = nullptr;
	int64_t out = 0;
	const uint32_t* ids = nullptr; // null for one matrix
	int64_t idRow = 0, id = 0;
	int n = 0, k = 0;
};
