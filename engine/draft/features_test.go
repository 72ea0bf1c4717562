package draft

import "testing"

var (
	_ Featured = (*ngramDraft)(nil)
	_ Featured = (*PredictionDraft)(nil)
)

func TestNgramFeatures(t *testing.T) {
	for _, c := range []struct {
		name, history string
		want          Features
	}{
		{"nothing recurs", "abcdefgh", Features{}},
		{"one occurrence", "abcXYZ-abc", Features{3, 1, 1}},
		{"two that differ", "abc1234 abc5678 -abc", Features{3, 2, 0.5}},
		{"shorter ones do not count", "xyabc1234 abc5678 -xyabc", Features{5, 1, 1}},
		{"longer than the index", "0123456789abcdef!0123456789abcdef", Features{16, 1, 1}},
		{"the longest that is told apart", "0123456789abcdefghijklmnopqrstuvwxyz!0123456789abcdefghijklmnopqrstuvwxyz",
			Features{maxFeature, 1, 1}},
	} {
		d := newNgramDraft()
		if got := d.Features(ids(c.history)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestPredictionFeatures(t *testing.T) {
	prompt := ids("?")
	for _, c := range []struct {
		name, output string
		want         Features
	}{
		{"at its beginning", "", Features{0, 1, 1}},
		{"followed so far", "abcd", Features{4, 1, 1}},
		{"lost", "vwxyz", Features{}},
		{"after a replacement", "abXd", Features{1, 1, 1}},
	} {
		d := open(Options{Prediction: ids("abcdefgh"), Prompt: prompt})
		if got := d.Features(append(prompt, ids(c.output)...)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
