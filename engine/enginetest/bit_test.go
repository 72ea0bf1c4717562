package enginetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"tandem/engine/enginetest"
)

// failVariable makes the body of TestBit fail.
const failVariable = "TANDEM_BIT_FAIL"

func TestBit(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	if os.Getenv(failVariable) != "" {
		t.Fatal("asked to fail")
	}
}

func TestBitSubtest(t *testing.T) {
	ran := false
	t.Run("an odd (name)", func(t *testing.T) {
		ran = true
		enginetest.Bit(t)
	})
	if !ran {
		t.Error("the subtest did not run")
	}
}

// TestBitReportsFailure runs TestBit with a failing body.
func TestBitReportsFailure(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBit$")
	cmd.Env = append(os.Environ(), failVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "asked to fail") {
		t.Errorf("a failure in the bit tier was lost: %v\n%s", err, out)
	}
}

func TestDiff(t *testing.T) {
	var d enginetest.Diff
	d.Compare("same", []float32{1, 2}, []float32{1, 2})
	if d.Compared != 2 || d.Differing != 0 {
		t.Error(&d)
	}
	d.Compare("other", []float32{1, 2}, []float32{1, 3})
	d.Compare("more", []float32{5}, []float32{6})
	if d.Compared != 5 || d.Differing != 2 || !strings.HasPrefix(d.First, "other: number 1") {
		t.Error(&d)
	}
}
