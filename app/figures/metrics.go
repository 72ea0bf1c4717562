package figures

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Metrics are the figures of one measurement, by names that end in their units.
type Metrics map[string]float64

// Print writes the metrics for a person, in the order of their names.
func (m Metrics) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		label, value := m.row(name)
		fmt.Fprintf(table, "%s\t%s\n", label, value)
	}
	return table.Flush()
}

// row returns the label and the value of one metric.
func (m Metrics) row(name string) (label, value string) {
	label, value = strings.ReplaceAll(name, "_", " "), Format(m[name])
	switch {
	case strings.HasSuffix(name, "_bytes"):
		return strings.TrimSuffix(label, " bytes"), Format(m[name]/1e6) + " MB"
	case strings.HasSuffix(name, "_percent"), strings.Contains(name, "_percent_"):
		return label, strconv.FormatFloat(math.Round(10*m[name])/10+0, 'f', 1, 64) // no -0.0
	}
	return label, value
}
