package dflash

import (
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// A blockConv is a pair of convolutions around a sublayer, over the rows of a block. Each row has
// kernels of its own, for groups of channels: the learned ones, and what its input adds to them. It
// sees the rows of its block before it, and nothing of the context.
type blockConv struct {
	base       *mlx.Array // (2, K, H): kernels before and after the sublayer, a row's own tap first
	projection *nn.Linear // H to 2 K groups

	kernel, groups int
}

// newConv reads the convolutions at path.
func newConv(w *nn.Weights, path string, a *args) *blockConv {
	k, groups := a.DFlashConfig.ConvKernelSize, a.HiddenSize/a.DFlashConfig.ConvGroupSize
	return &blockConv{
		base:       w.Tensor(path+".base_kernel", 2, k, a.HiddenSize),
		projection: w.Linear(path+".kernel_projection", a.HiddenSize, 2*k*groups, false),
		kernel:     k,
		groups:     groups,
	}
}

// before convolves the input x (rows, H) of the sublayer. It also returns the kernels for after.
func (c *blockConv) before(s *mlx.Scope, x *mlx.Array) (y, kernels *mlx.Array) {
	rows, h := x.Dim(0), x.Dim(1)
	added := s.Reshape(c.projection.Forward(s, x), rows, 2, c.kernel, c.groups, 1)
	base := s.Reshape(c.base, 1, 2, c.kernel, c.groups, h/c.groups)
	both := s.Split(s.Add(base, added), 2, 1) // (rows, 1, K, groups, H / groups) each
	return c.convolve(s, x, both[0]), both[1]
}

// after convolves the output x (rows, H) of the sublayer.
func (c *blockConv) after(s *mlx.Scope, x, kernels *mlx.Array) *mlx.Array {
	return c.convolve(s, x, kernels)
}

// convolve returns the sum over taps t of kernels[i, t] x[i-t], where nothing stands before row 0.
// All taps of all rows are one view of x after rows of zeros: each operation costs a small model as
// much as its arithmetic.
func (c *blockConv) convolve(s *mlx.Scope, x, kernels *mlx.Array) *mlx.Array {
	rows, h := x.Dim(0), x.Dim(1)
	padded := s.Concat(0, s.Zeros(x.Dtype(), c.kernel-1, h), x)
	seen := s.AsStrided(padded, (c.kernel-1)*h, // of row 0
		[]int{rows, 1, c.kernel, c.groups, h / c.groups}, []int{h, 0, -h, h / c.groups, 1})
	return s.Reshape(s.Sum(s.Mul(kernels, seen), 2, false), rows, h)
}
