package figures

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Header says what the measurements of one program can be compared with. As JSON it is the first
// line of a bench's output.
type Header struct {
	Side     string             `json:"side"`
	DType    string             `json:"dtype"`
	Threads  int                `json:"threads"`
	BLAS     string             `json:"blas"` // path of the library for matrix products
	Versions map[string]string  `json:"versions"`
	Tokens   []int32            `json:"tokens,omitempty"` // first ids of the generation, to compare
	Bars     map[string]float64 `json:"bars,omitempty"`   // metric to least ratio against the rival
}

// Print writes the header for a person.
func (h Header) Print(w io.Writer) error {
	var versions strings.Builder
	// A version of Go begins with "go" itself.
	for _, name := range slices.Sorted(maps.Keys(h.Versions)) {
		fmt.Fprintf(&versions, ", %s %s", name, strings.TrimPrefix(h.Versions[name], name))
	}
	_, err := fmt.Fprintf(w, "%s: %s, %d threads, %s%s\n", h.Side, cmp.Or(h.DType, "no model"),
		h.Threads, h.BLAS, versions.String())
	return err
}
