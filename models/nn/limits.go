package nn

import "fmt"

// Largest sizes a config.json may ask for, an order of magnitude above any published model. A
// config beyond them is refused before anything is allocated.
const (
	MaxLayers       = 1 << 10
	MaxHidden       = 1 << 16
	MaxIntermediate = 1 << 20
	MaxHeads        = 1 << 10
	MaxHeadDim      = 1 << 11
	MaxVocab        = 1 << 22
	MaxPositions    = 1 << 26
)

// A Size is one extent of a config.json with its limit.
type Size struct {
	Name  string // as the file spells it
	Value int
	Max   int
}

// CheckSizes refuses sizes that are not between 1 and their limit.
func CheckSizes(sizes ...Size) error {
	for _, z := range sizes {
		if z.Value < 1 || z.Value > z.Max {
			return fmt.Errorf("config.json: %s is %d, which is not between 1 and %d", z.Name, z.Value, z.Max)
		}
	}
	return nil
}

// An UnsupportedError names something valid that this program can't compute.
type UnsupportedError struct{ Message string }

func (e *UnsupportedError) Error() string { return e.Message }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// CheckActivation refuses a config whose activation is not the one the architecture computes. An
// empty name means that one.
func CheckActivation(field, name string, known ...string) error {
	for _, k := range known {
		if name == k || name == "" {
			return nil
		}
	}
	return unsupported("config.json: %s %q is not supported, only %q", field, name, known)
}
