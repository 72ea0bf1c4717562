package figures

import (
	"maps"
	"strings"
	"testing"
)

// Values have units and at most three digits.
func TestMetricsPrintWithUnitsAndFewDigits(t *testing.T) {
	tests := []struct {
		name    string
		metrics Metrics
		want    map[string]string // label to value
	}{
		{"plain", Metrics{
			"decode_per_second": 147.559, "prefill_chunk_512_per_second": 235.335,
			"prefill_default_per_second": 235.335,
			"step_ms":                    6.7771, "host_percent_of_step": 0.1034,
		}, map[string]string{
			"decode per second": "148", "prefill chunk 512 per second": "235",
			"prefill default per second": "235", "step ms": "6.78",
			"host percent of step": "0.1",
		}},
		{"memory", Metrics{"held_bytes": 48_123_456.789, "held_growth_percent": -0.01, "resident_bytes": 210e6},
			map[string]string{"held": "48.1 MB", "held growth percent": "0.0",
				"resident": "210 MB"}},
	}
	for _, test := range tests {
		var out strings.Builder
		if err := test.metrics.Print(&out); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for line := range strings.Lines(out.String()) {
			label, value, _ := strings.Cut(strings.TrimSpace(line), "  ")
			got[label] = strings.TrimSpace(value)
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
