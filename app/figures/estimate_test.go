package figures

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestEstimateIsTheMedianWithItsInterval(t *testing.T) {
	var values, fours [][]float64
	for i := range 41 {
		values = append(values, []float64{1 + float64(i-20)/100})
		fours = append(fours, slices.Repeat(values[i], 4))
	}
	e := EstimateOf(values)
	if e.Median != 1 || e.N != 41 || e.Prompts != 41 {
		t.Errorf("median %v of %d, %d prompts", e.Median, e.N, e.Prompts)
	}
	// The order statistics that bound the median with 95 %: the 14th and 28th of 41, give or take
	// one.
	if math.Abs(e.Low-0.93) > 0.015 || math.Abs(e.High-1.07) > 0.015 {
		t.Errorf("interval %v to %v", e.Low, e.High)
	}
	if again := EstimateOf(values); again != e {
		t.Errorf("the same values give %v, then %v", e, again)
	}
	// Four answers to every prompt make the estimate no surer.
	if f := EstimateOf(fours); f != (Estimate{e.Median, e.Low, e.High, 164, 41}) {
		t.Errorf("each once %v, four times %v", e, f)
	}
	if e := EstimateOf(nil); e != (Estimate{}) {
		t.Errorf("the estimate of no values is %v", e)
	}
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{4, 1, 3, 2}, 2.5}, {[]float64{3, 1}, 2}, {nil, 0}} {
		if m := Median(test.values); m != test.want {
			t.Errorf("the median of %v is %v, want %v", test.values, m, test.want)
		}
	}
}

// Values that are far apart have a wide interval around their median.
func TestIntervalEnclosesTheMedian(t *testing.T) {
	var values []float64
	for i := range 101 {
		values = append(values, float64(i))
	}
	e := EstimateEach(values)
	if e.Median != 50 {
		t.Errorf("e.Median = %v, want 50", e.Median)
	}
	if e.Low >= 50 {
		t.Errorf("e.Low = %v, want less than 50", e.Low)
	}
	if e.High <= 50 {
		t.Errorf("e.High = %v, want more than 50", e.High)
	}
	if e.High-e.Low > 50 {
		t.Errorf("e.High-e.Low = %v, want at most 50", e.High-e.Low)
	}
	if math.IsNaN(e.Low + e.High) {
		t.Errorf("the interval is %v to %v", e.Low, e.High)
	}
	if e.N != 101 {
		t.Errorf("e.N = %v, want 101", e.N)
	}
}

func TestBarJudgesTheMedian(t *testing.T) {
	for _, test := range []struct {
		bar       Bar
		estimate  Estimate
		want      string
		undecided bool
	}{
		{Bar{1.5, 2}, Estimate{1.4, 1.3, 1.45, 20, 8}, "1.50 missed", false},
		{Bar{1.5, 2}, Estimate{1.4, 1.3, 1.55, 20, 8}, "1.50 missed", true},
		{Bar{1.5, 2}, Estimate{1.5, 1.4, 1.6, 20, 8}, "1.50 met, aim 2.0 not", true},
		{Bar{1.5, 2}, Estimate{2.1, 1.9, 2.2, 20, 8}, "1.50 met, aim 2.0 too", false},
		{Bar{0.97, 0}, Estimate{0.98, 0.975, 0.99, 20, 8}, "0.97 met", false},
		{Bar{0.97, 0}, Estimate{}, "0.97 not measured", false},
		{Bar{0.97, 0}, Estimate{0.98, 0.975, 0.99, 19, 8}, "0.97, too few pairs", false},
		{Bar{0.97, 0}, Estimate{0.98, 0.975, 0.99, 40, 7}, "0.97, too few prompts", false},
		{Bar{}, Estimate{0.5, 0.1, 2, 20, 8}, "", false},
	} {
		got, _ := test.bar.Judge(test.estimate).(string)
		if got != test.want || test.bar.Undecided(test.estimate) != test.undecided {
			t.Errorf("%v of %v: %q, undecided %t", test.estimate, test.bar, got,
				test.bar.Undecided(test.estimate))
		}
	}
}

func TestTablePrintsADashForNoValue(t *testing.T) {
	var out strings.Builder
	err := Table{Title: "A title", Columns: []string{"a", "b"},
		Rows: [][]any{{"x", 1.2345}, {3, nil}}, Notes: []string{"a note"}}.Print(&out)
	want := "\nA title\na  b\nx  1.23\n3  -\na note\n"
	if err != nil || out.String() != want {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestFormatHasThreeDigits(t *testing.T) {
	for _, test := range []struct {
		v    float64
		want string
	}{
		{0, "0.00"}, {1.2345, "1.23"}, {12.345, "12.3"}, {123.45, "123"}, {-12345.6, "-12346"},
		{0.5, "0.500"}, {0.0042, "0.00420"}, {-0.00123456, "-0.00123"},
		{math.Inf(1), "+Inf"}, {math.NaN(), "NaN"},
	} {
		if got := Format(test.v); got != test.want {
			t.Errorf("%v is printed as %s, want %s", test.v, got, test.want)
		}
	}
}
