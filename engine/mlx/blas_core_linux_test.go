package mlx

import "testing"

// TestOpenBLASKnowsTheProcessor expects kernels for the vectors that the processor has, whatever its number is.
func TestOpenBLASKnowsTheProcessor(t *testing.T) {
	newThread(t)
	core := BLASCore()
	if core == "" {
		t.Fatal("OpenBLAS does not tell its core")
	}
	if targets() > 1 && (core == "Prescott" || core == "Core2" || core == "Nehalem") {
		t.Errorf("OpenBLAS computes as on a %s", core)
	}
}
