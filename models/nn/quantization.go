package nn

import (
	"encoding/json"
	"fmt"
	"slices"

	"tandem/engine/mlx"
)

// Quantization is the section of that name in config.json: how matrices are packed, and by module
// path what differs. A module is quantized if the checkpoint has scales for it. The section only
// says how.
type Quantization struct {
	module
	modules map[string]*module // by TextName; nil = config.json says false, not quantized
}

// module is what config.json says of one module, or of all.
type module struct {
	GroupSize int    `json:"group_size"`
	Bits      int    `json:"bits"`
	Mode      string `json:"mode"`
}

var (
	quantizedBits   = []int{4, 8}
	quantizedGroups = []int{32, 64, 128}
)

// UnmarshalJSON parses {"group_size", "bits", "mode"}. Any other key is a module path, with an
// object of the same form or false.
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
			m := q.module
			if err := json.Unmarshal(value, &m); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			q.modules[path] = &m
		case 'f':
			q.modules[path] = nil
		}
	}
	return nil
}

// Packing names the quantization for a person, such as "4-bit". It takes what the config says of
// all modules, or else bits.
func (q *Quantization) Packing(bits int) string {
	if q != nil && q.Bits > 0 {
		bits = q.Bits
	}
	return fmt.Sprintf("%d-bit", bits)
}

// Elements returns the bits of one element of the packed module at path, and the elements of each
// row. columns are those of its weight, groups those of its scales. The shapes alone fit both 4 and
// 8 bits. What the config says of the module decides, then what it says of all modules, then the
// first supported packing that fits.
func (q *Quantization) Elements(path string, columns, groups int) (bits, in int) {
	var candidates []module
	if q != nil {
		name, _ := TextName(path)
		if m := q.modules[name]; m != nil {
			candidates = append(candidates, *m)
		}
		candidates = append(candidates, q.module)
	}
	for _, b := range quantizedBits {
		for _, g := range quantizedGroups {
			candidates = append(candidates, module{Bits: b, GroupSize: g})
		}
	}
	for _, m := range candidates {
		if m.Bits > 0 && columns*32 == groups*m.GroupSize*m.Bits {
			return m.Bits, groups * m.GroupSize
		}
	}
	return 0, 0
}

// of returns how the module at path is packed. Each row has in elements; its weight has the given
// columns, its scales the given groups. What the config leaves open follows from the shapes.
func (q *Quantization) of(path string, in, columns, groups int) (mlx.Quantization, error) {
	var none mlx.Quantization
	if columns == 0 || groups == 0 {
		return none, fmt.Errorf("%s is quantized to nothing", path)
	}
	m := module{GroupSize: in / groups, Bits: columns * 32 / in}
	if q != nil {
		name, _ := TextName(path)
		said, ok := q.modules[name]
		if ok && said == nil {
			return none, fmt.Errorf(
				"config.json says that %s is not quantized, but the checkpoint has its scales",
				path)
		}
		m.Mode = q.Mode
		if ok {
			m = *said
		}
	}
	if m.Mode == "" {
		m.Mode = "affine"
	}
	if m.Mode != "affine" {
		return none, unsupported("%s is quantized as %s; only affine is supported", path, m.Mode)
	}
	if !slices.Contains(quantizedBits, m.Bits) || !slices.Contains(quantizedGroups, m.GroupSize) {
		return none, unsupported("%s is quantized to %d bits in groups of %d; "+
			"supported are %v bits and groups of %v",
			path, m.Bits, m.GroupSize, quantizedBits, quantizedGroups)
	}
	if columns*32 != in*m.Bits || groups*m.GroupSize != in {
		return none, fmt.Errorf("%s has %d columns and %d groups, "+
			"which is not %d elements of %d bits in groups of %d",
			path, columns, groups, in, m.Bits, m.GroupSize)
	}
	return mlx.Quantization{GroupSize: m.GroupSize, Bits: m.Bits, Mode: m.Mode}, nil
}
