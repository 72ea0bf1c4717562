package nn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tandem/engine/mlx"
)

// Quantization says by module path how matrices are quantized. It is the section of that name in
// config.json. A module is quantized if the checkpoint has scales for it. What config.json does not
// say about a module follows from its tensors.
type Quantization struct {
	module
	modules   map[string]*module // by TextName; nil = config.json says false, not quantized
	container *container         // nil = MLX's own form
}

// module is what config.json says about one module, or about all.
type module struct {
	GroupSize int    `json:"group_size"`
	Bits      int    `json:"bits"`
	Mode      string `json:"mode"` // empty = affine
}

// A mode is a mode of MLX, with the groups and the bits that MLX has products for.
type mode struct {
	name   string
	groups []int // the first is the default
	bits   []int
}

var modes = []mode{
	{"affine", []int{64, 32, 128}, []int{4, 2, 3, 5, 6, 8}},
	{"mxfp4", []int{32}, []int{4}},
	{"nvfp4", []int{16}, []int{4}},
	{"mxfp8", []int{32}, []int{8}},
}

func findMode(name string) (mode, bool) {
	i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
	if i < 0 {
		return mode{}, false
	}
	return modes[i], true
}

// check refuses bits and groups of the module at path that MLX has no products for.
func (p *mode) check(path string, m module) error {
	if slices.Contains(p.bits, m.Bits) && slices.Contains(p.groups, m.GroupSize) {
		return nil
	}
	return Unsupported("%s is quantized to %d bits in groups of %d; "+
		"%s supports bits of %v and groups of %v", path, m.Bits, m.GroupSize, p.name,
		slices.Sorted(slices.Values(p.bits)), slices.Sorted(slices.Values(p.groups)))
}

// modeError refuses a mode of the module at path by name.
func modeError(path, mode string) error {
	names := make([]string, len(modes))
	for i, p := range modes {
		names[i] = p.name
	}
	return Unsupported("%s is quantized as %q; supported are %s", path, mode,
		strings.Join(names, ", "))
}

// UnmarshalJSON parses {"group_size", "bits", "mode"}. Any other key is a module path, with an
// object of the same form or a boolean: true means the settings of all modules. As in mlx_lm an
// object is complete: what it leaves out has MLX's default, not the setting of all.
func (q *Quantization) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &q.module); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	q.modules = map[string]*module{}
	for path, value := range fields {
		path, _ = TextName(path)
		switch value[0] {
		case '{':
			var m module
			if err := json.Unmarshal(value, &m); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			q.modules[path] = &m
		case 't':
			q.modules[path] = &q.module
		case 'f':
			q.modules[path] = nil
		}
	}
	return nil
}

// of returns how the module at path is quantized. Each row of its weight has in elements.
// columns are the words of 32 bits of a row, groups its scales, which are of type scales.
func (q *Quantization) of(path string, in, columns, groups int,
	scales string) (mlx.Quantization, error) {
	var none mlx.Quantization
	if columns == 0 || groups == 0 || in == 0 {
		return none, fmt.Errorf("%s is quantized to nothing", path)
	}
	floating := slices.Contains(floatTypes, scales) // affine, the only mode with such scales
	m := module{GroupSize: in / groups, Bits: columns * 32 / in, Mode: "affine"}
	if !floating {
		m.Mode = inferMode(m.GroupSize, m.Bits)
	}
	if q != nil {
		name, _ := TextName(path)
		said, ok := q.modules[name]
		if ok && said == nil {
			return none, fmt.Errorf(
				"config.json says that %s is not quantized, but the checkpoint has its scales",
				path)
		}
		if ok {
			m = said.withDefaults()
		}
	}
	p, known := findMode(m.Mode)
	if !known {
		return none, modeError(path, m.Mode)
	}
	if err := p.check(path, m); err != nil {
		return none, err
	}
	if floating != (m.Mode == "affine") {
		return none, fmt.Errorf("config.json says that %s is quantized as %s, "+
			"but its scales are of type %s", path, m.Mode, scales)
	}
	if columns*32 != in*m.Bits || groups*m.GroupSize != in {
		return none, fmt.Errorf("%s has %d columns and %d groups, "+
			"which is not %d elements of %d bits in groups of %d",
			path, columns, groups, in, m.Bits, m.GroupSize)
	}
	return mlx.Quantization{GroupSize: m.GroupSize, Bits: m.Bits, Mode: m.Mode}, nil
}

// inferMode returns the mode without biases that quantizes like this, or mxfp4.
func inferMode(group, bits int) string {
	for _, p := range modes[1:] {
		if p.groups[0] == group && p.bits[0] == bits {
			return p.name
		}
	}
	return "mxfp4"
}

// withDefaults returns m with MLX's defaults for what it leaves out.
func (m module) withDefaults() module {
	if m.Mode == "" {
		m.Mode = "affine"
	}
	if p, ok := findMode(m.Mode); ok {
		if m.GroupSize == 0 {
			m.GroupSize = p.groups[0]
		}
		if m.Bits == 0 {
			m.Bits = p.bits[0]
		}
	}
	return m
}

// last returns the last extent of a shape, or 0.
func last(shape []int) int {
	if len(shape) == 0 {
		return 0
	}
	return shape[len(shape)-1]
}

// quantizedCount counts elements by how they are quantized.
type quantizedCount map[mlx.Quantization]int64

func (c quantizedCount) add(q mlx.Quantization, elements int64) { c[q] += elements }

// A quantization is mixed if at least 1/mixedShare of its elements use another format than most. Routers
// and heads are often kept at more bits.
const mixedShare = 10

// String names the quantization of most elements, such as "4-bit" or "mxfp4", with "mixed" before it if
// many others use another format. Groups do not count. It returns "" without elements.
func (c quantizedCount) String() string {
	words := map[string]int64{}
	total := int64(0)
	for q, n := range c {
		word := q.Mode
		if word == "affine" {
			word = fmt.Sprintf("%d-bit", q.Bits)
		}
		words[word] += n
		total += n
	}
	name := ""
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if words[word] > words[name] {
			name = word
		}
	}
	if name != "" && (total-words[name])*mixedShare >= total {
		return "mixed " + name
	}
	return name
}
