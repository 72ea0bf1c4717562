package app

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBenchPlainly: what a person reads has units, few digits, nothing twice
// and no cost that was not measured.
func TestBenchPlainly(t *testing.T) {
	tests := []struct {
		name    string
		metrics map[string]float64
		want    map[string]string // label to value
	}{
		{"plain", map[string]float64{
			"decode_per_second": 147.559, "prefill_chunk_512_per_second": 235.335, "prefill_default_per_second": 235.335,
			"step_ms": 6.7771, "host_percent_of_step": 0.1034,
		}, map[string]string{
			"decode per second": "148", "prefill per second": "235", "step ms": "6.78", "host percent of step": "0.1",
		}},
		{"memory", map[string]float64{"held_bytes": 48_123_456.789, "held_growth_percent": -0.01, "resident_bytes": 210e6},
			map[string]string{"held": "48.1 MB", "held growth percent": "0.0", "resident": "210 MB"}},
		{"endpoint", map[string]float64{"engine_us_per_token": 5299.961, "endpoint_us_per_token": 406.877, "noise_us_per_token": 80},
			map[string]string{"engine us per token": "5300", "endpoint us per token": "407", "noise us per token": "80.0"}},
		{"a cost below the noise", map[string]float64{"endpoint_us_per_token": -31.5, "noise_us_per_token": 80},
			map[string]string{"endpoint us per token": "below the noise", "noise us per token": "80.0"}},
	}
	for _, test := range tests {
		var out strings.Builder
		if err := printPlainly(&out, test.metrics); err != nil {
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

func TestMedianOf(t *testing.T) {
	// One pair that went wrong moves neither.
	median, noise := medianOf([]float64{9, 1, 8, 2, 7, 3, 6, 4, -500})
	if median != 4 || noise != 3.5 {
		t.Errorf("median %v, noise %v", median, noise)
	}
}

// TestEndpointPlainly: what is streamed is decoded as the engine alone does it,
// or the drafts would hide what the endpoint costs.
func TestEndpointPlainly(t *testing.T) {
	var asked struct {
		MaxTokens   int `json:"max_tokens"`
		Speculation struct{ Drafter string }
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	_, b := openTiny(t, "qwen3")
	e := &endpoint{&plain{bundle: b}, &served{url: server.URL}}
	if _, err := e.stream(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked.MaxTokens != benchDecode || asked.Speculation.Drafter != "none" {
		t.Errorf("asked for %+v", asked)
	}
}
