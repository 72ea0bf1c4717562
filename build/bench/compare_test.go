package bench

import (
	"os/exec"
	"strings"
	"testing"
)

// TestSidesTakeTurns compares two shell scripts that speak a bench's protocol. One is twice as fast
// as the other.
func TestSidesTakeTurns(t *testing.T) {
	b := newTestBuilder(t)
	side := func(header string, measurement string) []string {
		return []string{"-c", `echo '` + header + `'; while read line; do echo '` + measurement +
			`'; done`}
	}
	ours := side(`{"side":"tandem","tokens":[1,2],"bars":{"decode_per_second":1.5,"first_ms":1}}`,
		`{"decode_per_second":20,"first_ms":5,"own":1}`)
	rival := side(`{"side":"rival","tokens":[1,2]}`, `{"decode_per_second":10,"first_ms":4}`)
	report, err := compare(t.Context(), b, 3, b.Command(t.Context(), "sh", ours...),
		b.Command(t.Context(), "sh", rival...))
	if err != nil {
		t.Fatal(err)
	}
	if !*report.TokensEqual || report.Pairs != 3 || len(report.Rows) != 2 {
		t.Fatalf("got %+v", report)
	}
	if len(report.Own) != 1 || report.Own["own"] != 1 {
		t.Errorf("tandem alone has %v", report.Own)
	}
	decode, first := report.Rows[0], report.Rows[1]
	if decode.Ratio != 2 || !*decode.Met {
		t.Errorf("decode: %+v", decode)
	}
	if first.Ratio != 0.8 || *first.Met {
		t.Errorf("first_ms, a cost: %+v", first)
	}
	if err := report.verdict(); err == nil ||
		!strings.Contains(err.Error(), "first_ms is 0.800 times") ||
		strings.Contains(err.Error(), "decode") {
		t.Errorf("the missed bar of first_ms gives %v", err)
	}
	if report.Rows = report.Rows[:1]; report.verdict() != nil {
		t.Errorf("a bar that is met gives %v", report.verdict())
	}
}

// TestUndecidedComparisonDoublesOnce expects twice the pairs where the interval contains the bar, which the rival
// may name.
func TestUndecidedComparisonDoublesOnce(t *testing.T) {
	b := newTestBuilder(t)
	side := func(bars string) *exec.Cmd {
		return b.Command(t.Context(), "sh", "-c",
			`echo '{"side":"x"`+bars+`}'; while read line; do echo '{"a_per_second":1}'; done`)
	}
	for _, c := range []struct {
		ours, rivals string
		pairs        int
	}{
		{`,"bars":{"a_per_second":1}`, "", 4},
		{`,"bars":{"a_per_second":0.5}`, `,"bars":{"a_per_second":1}`, 4},
		{`,"bars":{"a_per_second":0.5}`, "", 2},
	} {
		report, err := compare(t.Context(), b, 2, side(c.ours), side(c.rivals))
		if err != nil || report.Pairs != c.pairs {
			t.Errorf("%d pairs, want %d, %v", report.Pairs, c.pairs, err)
		}
	}
}

func TestOtherTokensAreAnError(t *testing.T) {
	b := newTestBuilder(t)
	side := func(tokens string) []string {
		return []string{"-c", `echo '{"side":"x","tokens":` + tokens +
			`}'; while read line; do echo '{}'; done`}
	}
	report, err := compare(t.Context(), b, 1, b.Command(t.Context(), "sh", side("[1,2]")...),
		b.Command(t.Context(), "sh", side("[1,3]")...))
	if err != nil || *report.TokensEqual || report.verdict() == nil {
		t.Errorf("equal %t, %v", *report.TokensEqual, err)
	}
	report, err = compare(t.Context(), b, 1, b.Command(t.Context(), "sh", side("[1,2]")...),
		b.Command(t.Context(), "sh", side("[]")...))
	if err != nil || report.TokensEqual != nil || report.verdict() != nil {
		t.Errorf("a rival that lists no tokens gives %v, %v", report.verdict(), err)
	}
}

func TestSideThatEndsEarlyIsAnError(t *testing.T) {
	b := newTestBuilder(t)
	fine := `echo '{"side":"x"}'; while read line; do echo '{}'; done`
	for _, dies := range []string{"exit 1", `echo '{"side":"y"}'`, "echo nonsense"} {
		if _, err := compare(t.Context(), b, 2, b.Command(t.Context(), "sh", "-c", fine),
			b.Command(t.Context(), "sh", "-c", dies)); err == nil {
			t.Errorf("a side that runs %q gives no error", dies)
		}
	}
}
