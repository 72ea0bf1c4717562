package nn

import (
	"fmt"
	"slices"
	"strings"

	"tandem/engine/mlx"
)

// Weights hands a checkpoint's tensors to the layers of a model and owns what it loaded. It notes
// each name that is asked for, so that [Weights.Err] can name missing and unexpected tensors.
type Weights struct {
	Dtype   mlx.Dtype // of floating weights in memory; zero = as stored
	FewRows bool      // use the kernel for few rows with quantized matrices; takes a GPU
	NoHead  bool      // an embedding model: its head is not read and may be missing
	Bits    int       // bits to quantize plain matrices in; 0 = hold them as stored

	dryRun bool          // nothing is read, see NewDryRunWeights
	scope  *mlx.Scope    // while loading
	config *Quantization // may be nil
	err    error

	namedTensors
	totals

	arrays  []*mlx.Array // kept
	pending []*mlx.Array // of the last keep, perhaps not computed yet
	fewRows *fewRows     // of the quantized matrices, or nil
	parts   Parts
}

// NewWeights returns the weights of src, read on the thread with arrays of s. q says how modules are
// quantized. If it is nil, that follows from their tensors.
func NewWeights(s *mlx.Scope, src Source, q *Quantization) *Weights {
	return &Weights{scope: s, config: q, namedTensors: newNamedTensors(src),
		totals: totals{quantized: quantizedCount{}}}
}

// NewDryRunWeights returns weights that read nothing. What asks for them makes a model that cannot compute,
// and [Weights.Err] says whether the tensors of src would do. It needs no thread.
func NewDryRunWeights(src Source, q *Quantization) *Weights {
	w := NewWeights(mlx.NewIdleScope(), src, q)
	w.dryRun = true
	return w
}

// Sanitize renames the checkpoint's tensors to what the model calls them. It drops the tensors for
// which keep is false, and the head if NoHead is set.
func (w *Weights) Sanitize(rename func(name string) (to string, keep bool)) {
	names := make(map[string]string, len(w.names))
	for name, stored := range w.names {
		to, keep := w.config.Tensor(name)
		if keep {
			to, keep = rename(to)
		}
		if _, what, _ := textName(name); !keep && what != "" {
			w.leftOut[what] = true
		}
		if !keep || w.NoHead && strings.HasPrefix(to, headPath+".") {
			continue
		}
		if _, twice := names[to]; twice {
			w.fail(fmt.Errorf("the checkpoint has two tensors for %s", to))
		}
		names[to] = stored
	}
	w.names = names
}

// Vector reads a tensor of dim elements.
func (w *Weights) Vector(name string, dim int) *mlx.Array { return w.Tensor(name, dim) }

// Tensor reads a tensor of a shape.
func (w *Weights) Tensor(name string, shape ...int) *mlx.Array {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	w.parameters += n
	a := w.float(name, shape...)
	w.keep([]*mlx.Array{a})
	return a
}

// StoredVector is Vector without the change of type to one of 16 bits: float32 stays float32. It is
// for what only chooses, or is computed with in float32.
func (w *Weights) StoredVector(name string, dim int) *mlx.Array {
	w.parameters += int64(dim)
	a := w.load(name, floatTypes, []int{dim})
	if w.Dtype == mlx.Float32 && a.Dtype() != w.Dtype {
		a = w.scope.AsType(a, w.Dtype)
	}
	w.keep([]*mlx.Array{a})
	return a
}

// Indices reads n indices below a limit, as int32. It waits for them, to refuse any other.
func (w *Weights) Indices(name string, n, limit int) *mlx.Array {
	a := w.readIndices(name, n, limit, false)
	w.keep([]*mlx.Array{a})
	return a
}

// readIndices is Indices for an array of the scope. ascending says that each index is above the one
// before it.
func (w *Weights) readIndices(name string, n, limit int, ascending bool) *mlx.Array {
	a := w.load(name, indexTypes, []int{n})
	if w.stopped() {
		return a
	}
	list, err := mlx.Read[int64](w.scope, w.scope.AsType(a, mlx.Int64))
	if err != nil {
		w.fail(err)
		return a
	}
	ids, last := make([]int32, n), int64(-1)
	for i, id := range list {
		switch {
		case id < 0 || id >= int64(limit):
			w.fail(fmt.Errorf("%s has %d at %d, which is not between 0 and %d", name, id, i, limit-1))
			return a
		case ascending && id <= last:
			w.fail(fmt.Errorf("%s has %d after %d, and its ids must ascend", name, id, last))
			return a
		}
		ids[i], last = int32(id), id
	}
	return mlx.New(w.scope, ids, n)
}

// fail records the first error.
func (w *Weights) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Err returns the first failure, or else an error that names missing and unexpected tensors. Call
// it after everything was asked for.
func (w *Weights) Err() error {
	w.wait()
	if w.err != nil {
		return w.err
	}
	if err := w.scope.Err(); err != nil && !w.dryRun {
		return err
	}
	return w.misfit()
}

// Free releases everything that was loaded.
func (w *Weights) Free() {
	if w.pending != nil { // work under way holds what it reads
		w.scope.Synchronize()
		w.pending = nil
	}
	for _, a := range w.arrays {
		a.Free()
	}
	w.arrays = nil
	if w.fewRows != nil {
		w.fewRows.kernel.Free()
		w.fewRows = nil
	}
}

// Types of floating and of quantized tensors, and of scales, as safetensors spells them.
var (
	floatTypes  = []string{"F16", "BF16", "F32"}
	indexTypes  = []string{"I32", "I64"}
	weightTypes = []string{"U32"}
	scaleTypes  = append([]string{"U8"}, floatTypes...)
)

// floatType returns the type of the array that a tensor of one of the floatTypes is loaded as.
func floatType(name string) mlx.Dtype {
	for _, d := range []mlx.Dtype{mlx.Float16, mlx.BFloat16} {
		if d.String() == name {
			return d
		}
	}
	return mlx.Float32
}

// float returns a floating tensor of the given shape as an array of the scope, in the type to
// compute in.
func (w *Weights) float(name string, shape ...int) *mlx.Array {
	a := w.load(name, floatTypes, shape)
	switch {
	case w.Dtype == 0 || a.Dtype() == w.Dtype:
		return a
	case w.Dtype == mlx.Float32:
		return w.scope.Widen(a)
	}
	return w.scope.AsType(a, w.Dtype)
}

// stopped reports whether tensors are checked and no longer read.
func (w *Weights) stopped() bool { return w.err != nil || w.missing != nil || w.dryRun }

// load returns a tensor of one of the given types and of the given shape. After any failure it
// returns zeros: from then on only names, types and shapes matter, and nothing is computed.
func (w *Weights) load(name string, types []string, shape []int) *mlx.Array {
	info, ok := w.info(name)
	switch {
	case ok && !slices.Contains(types, info.Dtype):
		w.fail(Unsupported("%s is of type %s; supported is %s",
			name, info.Dtype, strings.Join(types, ", ")))
	case ok && !slices.Equal(info.Shape, shape):
		w.fail(fmt.Errorf("%s has shape %v, config.json asks for %v", name, info.Shape, shape))
	}
	if w.stopped() {
		return w.scope.Zeros(mlx.Float32, shape...)
	}
	return w.src.Load(w.scope, info.Name)
}

// keep makes arrays outlive the scope, and views of them, whose memory counts once. It computes
// them while the next tensors are read, and frees all other arrays of the scope. Before that it
// waits for the arrays of the last call, so that no more than two layers are held twice.
func (w *Weights) keep(arrays []*mlx.Array, views ...*mlx.Array) {
	if w.stopped() {
		return
	}
	for _, a := range arrays {
		w.bytes += a.Bytes()
	}
	all := slices.Concat(arrays, views)
	for _, a := range all {
		w.arrays = append(w.arrays, w.scope.Keep(a))
	}
	w.wait()
	w.scope.AsyncEval(all...)
	w.pending = all
}

// wait waits for what keep computes. An error is the scope's; then Free waits.
func (w *Weights) wait() {
	if w.pending != nil && w.scope.Eval(w.pending...) == nil {
		w.pending = nil
	}
}
