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

// An exactSource has quantized weights that only come near its files', and beside them the files' own.
type exactSource interface {
	// Exact returns how the file's own form of a weight is quantized, and whether it has one.
	Exact(weight string) (q mlx.Quantization, ok bool)
	// Centred reports whether the biases of a weight, in its own form, are -2^(bits-1) times its scales.
	Centred(weight string) bool
	// LoadExact returns that form.
	LoadExact(s *mlx.Scope, name string) (weight, scales, biases *mlx.Array)
}

// A formattedSource knows who wrote its files.
type formattedSource interface {
	// Format returns what the metadata of a tensor's file calls its format.
	Format(name string) string
}

// FormatMLX is the format of files that MLX has written.
const FormatMLX = "mlx"

// A namedTensors has the tensors of a Source by the names that the model has for them. It records
// each name that is asked for.
type namedTensors struct {
	src     Source
	names   map[string]string // name asked for -> name in the checkpoint
	leftOut map[string]bool   // see LeftOut
	asked   map[string]bool
	missing []string
}

// newNamedTensors returns the tensors of src under its own names.
func newNamedTensors(src Source) namedTensors {
	c := namedTensors{src: src, names: map[string]string{}, leftOut: map[string]bool{},
		asked: map[string]bool{}}
	for _, name := range src.Names() {
		c.names[name] = name
	}
	return c
}

// LeftOut returns what the parts that Sanitize left out are for, such as "images and sound", or "".
func (c *namedTensors) LeftOut() string {
	return strings.Join(slices.Sorted(maps.Keys(c.leftOut)), " and ")
}

// Has reports whether the checkpoint holds a tensor.
func (c *namedTensors) Has(name string) bool { return c.names[name] != "" }

// Names lists the tensors of the checkpoint.
func (c *namedTensors) Names() []string { return slices.Sorted(maps.Keys(c.names)) }

// Format returns what the file of a tensor calls its format, or "".
func (c *namedTensors) Format(name string) string {
	if src, ok := c.src.(formattedSource); ok {
		return src.Format(c.names[name])
	}
	return ""
}

// Shape returns the shape of a tensor, or nil. It does not count as asking for the tensor.
func (c *namedTensors) Shape(name string) []int {
	info, _ := c.src.Info(c.names[name])
	return info.Shape
}

// info returns type and shape of a tensor, and records that it was asked for.
func (c *namedTensors) info(name string) (mlx.TensorInfo, bool) {
	info, ok := c.src.Info(c.names[name])
	if !ok && !c.asked[name] {
		c.missing = append(c.missing, name)
	}
	c.asked[name] = true
	return info, ok
}

// exactForm returns how the file's own form of a weight is quantized, if the tensor only comes near it.
func (c *namedTensors) exactForm(weight string) (q mlx.Quantization, ok bool) {
	if src, is := c.src.(exactSource); is {
		return src.Exact(weight)
	}
	return q, false
}

// isCentred reports whether the biases of a weight, in its file's own form, follow from its scales.
func (c *namedTensors) isCentred(weight string) bool {
	src, is := c.src.(exactSource)
	return is && src.Centred(weight)
}

// packedGrowth returns by how many bytes the matrices (..., out, in) at path, quantized as q, exceed their tensors with
// scales in float32 once they are in memory: packed, where biased says that biases are stored, or else dequantized.
func (c *namedTensors) packedGrowth(path string, q mlx.Quantization, packed, biased bool, shape []int) int64 {
	in, out, stack := shape[len(shape)-1], shape[len(shape)-2], int64(1)
	for _, n := range shape[:len(shape)-2] {
		stack *= int64(n)
	}
	var held int64
	for _, end := range []string{".weight", ".scales", ".biases"} {
		if info, ok := c.src.Info(c.names[path+end]); ok && slices.Contains(floatTypes, info.Dtype) {
			held += 4 * info.Size()
		} else {
			held += info.Bytes
		}
	}
	if q.Mode == "affine" && !c.Has(path+".biases") { // they are computed, and count
		held += 4 * stack * int64(out*in/q.GroupSize)
	}
	if c.Has(path + globalScale) { // which counts for each output
		held += 4 * stack * int64(out)
	}
	if !packed {
		return 4*stack*int64(out)*int64(in) - held
	}
	if len(shape) > 2 {
		out = (out + 15) / 16 * 16 // a single matrix may be joined with others, and they are padded once
	}
	return stack*mlx.PackedBytes(out, in, q, c.hasHalfScales(path), biased) - held
}

// hasHalfScales reports whether 16 bits hold the scales and biases of the quantized matrix at path.
func (c *namedTensors) hasHalfScales(path string) bool {
	scales, _ := c.src.Info(c.names[path+".scales"])
	_, isExact := c.exactForm(c.names[path+".weight"]) // whose scales are float32
	return scales.Dtype != "F32" && !isExact && !c.Has(path+globalScale)
}

// misfit returns an error that names missing and unexpected tensors, or nil.
func (c *namedTensors) misfit() error {
	if what := c.LeftOut(); len(c.names) == 0 && what != "" {
		return fmt.Errorf("the checkpoint has parts for %s alone, and no text model: "+
			"take a folder with the whole model", what)
	}
	unexpected := slices.DeleteFunc(c.Names(), func(name string) bool { return c.asked[name] })
	if len(c.missing)+len(unexpected) > 0 {
		return &MisfitError{c.missing, unexpected}
	}
	return nil
}

// A MisfitError says that the tensors of a checkpoint are not those that its config.json asks for.
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
			parts = append(parts, fmt.Sprintf("%s %d tensors (%s)", list.what, n, firstNames(list.names)))
		}
	}
	return strings.Join(parts, " and ")
}

// firstNames lists the first few names.
func firstNames(names []string) string {
	const limit = 4
	if len(names) > limit {
		return strings.Join(names[:limit], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}
