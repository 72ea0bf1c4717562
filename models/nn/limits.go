package nn

import "fmt"

// Largest sizes that a config.json may ask for, ten times the sizes of any published model. A
// larger config is refused before anything is allocated.
const (
	MaxLayers       = 1 << 10
	MaxHidden       = 1 << 16
	MaxIntermediate = 1 << 20
	MaxHeads        = 1 << 10
	MaxExperts      = 1 << 12
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
			return fmt.Errorf("config.json: %s is %d, which is not between 1 and %d",
				z.Name, z.Value, z.Max)
		}
	}
	return nil
}

// A Number is a factor or a limit of a config.json.
type Number struct {
	Name  string // as the file spells it
	Value float64
}

// CheckPositive refuses numbers that are not above 0.
func CheckPositive(numbers ...Number) error {
	for _, n := range numbers {
		if !(n.Value > 0) {
			return fmt.Errorf("config.json: %s is %v, not above 0", n.Name, n.Value)
		}
	}
	return nil
}

// An UnsupportedError names a valid request of a config.json or a checkpoint that this program
// can't compute.
type UnsupportedError struct{ Message string }

func (e *UnsupportedError) Error() string { return e.Message }

// Unsupported returns an [*UnsupportedError].
func Unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// CheckActivation refuses a config whose activation is not one of the known ones. An empty name is
// accepted.
func CheckActivation(field, name string, known ...string) error {
	for _, k := range known {
		if name == k || name == "" {
			return nil
		}
	}
	return Unsupported("config.json: %s %q is not supported, only %q", field, name, known)
}

// CheckNoWindow refuses use_sliding_window for a model_type whose layers attend all positions here.
func CheckNoWindow(useSlidingWindow bool, modelType string) error {
	if useSlidingWindow {
		return Unsupported("config.json: use_sliding_window is not supported for %s", modelType)
	}
	return nil
}
