package nn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tandem/engine/mlx"
)

// A Source is a checkpoint: tensors by name, in one file or in many.
type Source interface {
	Names() []string
	Info(name string) (mlx.TensorInfo, bool)
	Load(s *mlx.Scope, name string) *mlx.Array
}

// An exactSource has packed weights that only come near those of its files.
type exactSource interface {
	// LoadExact returns such a weight unpacked, in float32 and exactly that of the file. ok is false
	// for any other.
	LoadExact(s *mlx.Scope, name string) (a *mlx.Array, ok bool)
}

// A formattedSource knows who wrote its files.
type formattedSource interface {
	// Format returns what the metadata of a tensor's file calls its format.
	Format(name string) string
}

// FormatMLX is the format of files that MLX has written.
const FormatMLX = "mlx"

// Weights hands a checkpoint's tensors to the layers of a model and owns what it loaded. It notes
// each name that is asked for, so that [Weights.Err] can name missing and unexpected tensors.
type Weights struct {
	Dtype   mlx.Dtype // of floating weights in memory; zero = as stored
	FewRows bool      // use the kernel for few rows with packed matrices; takes a GPU
	Unpack  bool      // hold packed matrices unpacked; takes a Dtype of float32
	Direct  bool      // but leave packed what mlx.PackedMatMul takes
	NoHead  bool      // an embedding model: its head is not read and may be missing
	Bits    int       // pack plain matrices in so many bits; 0 = hold them as stored

	checks  bool       // nothing is read, see NewChecks
	scope   *mlx.Scope // while loading
	src     Source
	config  *Quantization     // may be nil
	packed  packedCount       // elements of packed matrices
	names   map[string]string // name asked for -> name in the checkpoint
	leftOut map[string]bool   // see LeftOut
	asked   map[string]bool
	missing []string
	err     error

	arrays     []*mlx.Array // kept
	pending    []*mlx.Array // of the last keep, perhaps not computed yet
	fewRows    *fewRows     // of the packed matrices, nil if there are none
	parts      Parts
	parameters int64
	bytes      int64
	unpacking  Unpacking
	made       Made
	plain      Plain // all of those asked for
}

// Made is the memory that loading takes beyond the tensors of the checkpoint, for arrays that it
// computes from them.
type Made struct {
	Packed   int64 // bytes of what has one type, whatever the model computes in
	Floats   int64 // bytes of the rest, as it is stored
	Elements int64 // of the rest

	Stacks Plain // experts that are not packed; the CPU holds them in float32
	Convs  Plain // kernels of convolutions, always held in float32

	Packable Packable // what Weights.Bits packs
	Cut      Cut      // of the target's head
}

// Packable counts the plain matrices that can be packed.
type Packable struct {
	Plain
	Scales int64 // of them packed, and as many biases
}

// Cut is the size of the rows that a drafter reads from the head of its target.
type Cut struct {
	Rows, Width int64
}

// Plain counts matrices that are not packed.
type Plain struct {
	Elements int64
	Bytes    int64 // as stored
}

// add counts a tensor.
func (p *Plain) add(t mlx.TensorInfo) {
	p.Elements += t.Size()
	p.Bytes += t.Bytes
}

// addFloats adds an array like a tensor of the checkpoint.
func (m *Made) addFloats(like mlx.TensorInfo) {
	m.Floats += like.Bytes
	m.Elements += like.Size()
}

// NewWeights returns the weights of src, read on the thread with arrays of s. q says how modules are
// packed. If it is nil, that follows from their tensors.
func NewWeights(s *mlx.Scope, src Source, q *Quantization) *Weights {
	w := &Weights{
		scope: s, src: src, config: q, packed: packedCount{}, names: map[string]string{},
		asked: map[string]bool{}, leftOut: map[string]bool{},
	}
	for _, name := range src.Names() {
		w.names[name] = name
	}
	return w
}

// NewChecks returns weights that read nothing. What asks for them makes a model that cannot compute,
// and [Weights.Err] says whether the tensors of src would do. It needs no thread.
func NewChecks(src Source, q *Quantization) *Weights {
	w := NewWeights(mlx.NewIdleScope(), src, q)
	w.checks = true
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

// LeftOut says what parts that Sanitize dropped are for, such as "images and sound", empty for none.
func (w *Weights) LeftOut() string {
	return strings.Join(slices.Sorted(maps.Keys(w.leftOut)), " and ")
}

// Has reports whether the checkpoint holds a tensor.
func (w *Weights) Has(name string) bool { return w.names[name] != "" }

// Names lists the tensors that there are.
func (w *Weights) Names() []string { return slices.Sorted(maps.Keys(w.names)) }

// Format returns what the file of a tensor calls its format, empty if it is silent.
func (w *Weights) Format(name string) string {
	if src, ok := w.src.(formattedSource); ok {
		return src.Format(w.names[name])
	}
	return ""
}

// Shape returns the shape of a tensor, nil if the checkpoint has none of that name. It does not
// count as asking for the tensor.
func (w *Weights) Shape(name string) []int {
	info, _ := w.src.Info(w.names[name])
	return info.Shape
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
	if err := w.scope.Err(); err != nil && !w.checks {
		return err
	}
	if what := w.LeftOut(); len(w.names) == 0 && what != "" {
		return fmt.Errorf("the checkpoint has parts for %s alone, and no text model: "+
			"take a folder with the whole model", what)
	}
	unexpected := slices.DeleteFunc(slices.Sorted(maps.Keys(w.names)),
		func(name string) bool { return w.asked[name] })
	if len(w.missing)+len(unexpected) > 0 {
		return &MisfitError{w.missing, unexpected}
	}
	return nil
}

// A MisfitError says that a checkpoint has other tensors than its config.json asks for.
type MisfitError struct{ Missing, Unexpected []string }

func (e *MisfitError) Error() string {
	return "the checkpoint " + e.Tensors() + ", so it does not fit its config.json"
}

// Tensors returns what is wrong with the tensors, such as "lacks 1 tensors (lm_head.weight)".
func (e *MisfitError) Tensors() string {
	var parts []string
	for _, list := range []struct {
		what  string
		names []string
	}{{"lacks", e.Missing}, {"has unexpected", e.Unexpected}} {
		if n := len(list.names); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d tensors (%s)", list.what, n, some(list.names)))
		}
	}
	return strings.Join(parts, " and ")
}

// some lists the first few names.
func some(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// Parameters returns the number of weights asked for so far. A quantized weight counts as one.
func (w *Weights) Parameters() int64 { return w.parameters }

// Unpacking returns what the packed matrices asked for so far would be unpacked.
func (w *Weights) Unpacking() Unpacking { return w.unpacking }

// Bytes returns the memory of the arrays kept so far.
func (w *Weights) Bytes() int64 { return w.bytes }

// Made returns the memory of what loading computes. It is complete once everything was asked for.
func (w *Weights) Made() Made { return w.made }

// Packing names the quantization for a person, such as "4-bit", "mxfp4" or "mixed 4-bit". It is
// empty if no matrix is packed.
func (w *Weights) Packing() string { return w.packed.String() }

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

// info returns type and shape of a tensor, and notes that it was asked for.
func (w *Weights) info(name string) (mlx.TensorInfo, bool) {
	info, ok := w.src.Info(w.names[name])
	if !ok && !w.asked[name] {
		w.missing = append(w.missing, name)
	}
	w.asked[name] = true
	return info, ok
}

// Types of floating and of packed tensors, and of scales, as safetensors spells them.
var (
	floatTypes  = []string{"F16", "BF16", "F32"}
	indexTypes  = []string{"I32", "I64"}
	packedTypes = []string{"U32"}
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
func (w *Weights) stopped() bool { return w.err != nil || w.missing != nil || w.checks }

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

// keep makes arrays outlive the scope, and views of them, whose memory counts once. It computes them
// while the next tensors are read, and frees all other arrays of the scope. Before that it waits for
// those of the last call, so that no more than two layers are held twice.
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
