package bench

import (
	"math"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/engine"
)

// TestPlainMeasuresAtContexts expects decode, prefill and the floor of a step at each context, and that a
// prompt no model reads is an error.
func TestPlainMeasuresAtContexts(t *testing.T) {
	for text, fine := range map[string]bool{"16": true, "0": false, "-3": false, "many": false} {
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		(&plainOptions{}).Flags(f)
		if err := f.Parse([]string{"--context", text}); (err == nil) != fine {
			t.Errorf("--context %s: %v", text, err)
		}
	}
	th, b := openTiny(t, "")
	p := &Plain{Thread: th, Contexts: []int{16, 300}, bundle: b, tokens: make([]int32, 64),
		engine: engine.New(th, b.Model, b.Tokenizer, engine.Options{})}
	defer p.engine.Close()
	if h := p.Header(); len(h.Bars) > 0 {
		t.Errorf("bars %v, which are those against mlx_lm", h.Bars)
	}
	m, err := p.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{DecodeAt(16), PrefillOf(16), DecodeAt(300), PrefillOf(300)} {
		if m[name] <= 0 {
			t.Errorf("%s is %v", name, m[name])
		}
	}
	if p.Thread.GPU() {
		return
	}
	weights := float64(p.bundle.Info.Bytes)
	short, long := m["step_at_16_reads_bytes"], m["step_at_300_reads_bytes"]
	if short <= weights || long <= short {
		t.Errorf("a step reads %v, later %v bytes; the weights have %v", short, long, weights)
	}
	floor := long / 1e6 / m["bandwidth_gigabytes_per_second"]
	if got := m["floor_at_300_ms"]; math.Abs(got-floor) > floor/1e6 ||
		math.Abs(m["step_at_300_ms"]/got-m["step_at_300_per_floor"]) > 1e-6 {
		t.Errorf("the floor is %v ms, %v bytes by the bandwidth give %v", got, long, floor)
	}
	p.Contexts = []int{math.MaxInt}
	if _, err := p.Measure(t.Context()); err == nil || !strings.Contains(err.Error(), "choose at most") {
		t.Errorf("a prompt longer than any gives %v", err)
	}
}
