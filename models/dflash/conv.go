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
	kernels = s.Add(base, added) // (rows, 2, K, groups, H / groups)
	both := s.Split(kernels, 2, 1)
	return c.convolve(s, x, both[0]), both[1]
}

// after convolves the output x (rows, H) of the sublayer.
func (c *blockConv) after(s *mlx.Scope, x, kernels *mlx.Array) *mlx.Array {
	return c.convolve(s, x, kernels)
}

// convolve returns the sum over taps t of kernels[i, t] x[i-t], where nothing stands before row 0.
func (c *blockConv) convolve(s *mlx.Scope, x, kernels *mlx.Array) *mlx.Array {
	rows, h := x.Dim(0), x.Dim(1)
	taps := s.Split(s.Reshape(kernels, rows, c.kernel, h), c.kernel, 1) // (rows, 1, H) each
	var sum *mlx.Array
	for t := range min(c.kernel, rows) {
		shifted := x
		if t > 0 {
			shifted = s.Concat(0, s.Zeros(x.Dtype(), t, h), s.Slice(x, 0, 0, rows-t))
		}
		part := s.Mul(s.Reshape(taps[t], rows, h), shifted)
		if sum == nil {
			sum = part
		} else {
			sum = s.Add(sum, part)
		}
	}
	return sum
}
