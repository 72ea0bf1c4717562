package enginetest

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"tandem/engine/mlx"
)

// bitVariable marks the process in which the bodies of bit tests run.
const bitVariable = "TANDEM_BIT_TIER"

// Bit opens the bit tier, in which float32, bfloat16 and 4-bit results do not depend on how
// many rows are computed at once. OpenBLAS picks kernels by row count; the reference BLAS in
// MLX's own wheel does not. So Bit runs the calling test again in a process that preloads
// the wheel's BLAS, and makes sure that cblas_sgemm comes from there. In that process it
// returns true. In the first process it fails the test if the other one failed, and returns
// false:
//
//	func TestChunking(t *testing.T) {
//		if !enginetest.Bit(t) {
//			return
//		}
//		...
//	}
//
// It never skips. The tier exists on Linux only: MLX for macOS computes on
// Metal or Accelerate, where Bit returns false and logs so.
func Bit(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("no bit tier on " + runtime.GOOS)
		return false
	}
	want := bitLibrary(t)
	if InBit() {
		if got := blas(t); got != want {
			t.Fatalf("cblas_sgemm comes from %s, not from %s", got, want)
		}
		return true
	}
	var pattern []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	args := []string{"-test.run=" + strings.Join(pattern, "/"), "-test.count=1", "-test.v"}
	if deadline, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(deadline).String())
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), bitVariable+"=1", "LD_PRELOAD="+want)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Fatalf("in the bit tier: %v\n%s", err, out)
	}
	if testing.Verbose() {
		t.Logf("in the bit tier:\n%s", out)
	}
	return false
}

// InBit reports whether this is the process in which the bodies of bit tests run.
func InBit() bool { return os.Getenv(bitVariable) != "" }

// Control runs a suite of the bit tier under OpenBLAS, where it must find differing float32 bits. A
// suite that finds none there cannot find any.
func Control(t *testing.T, suite func(*Diff)) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("no bit tier on " + runtime.GOOS)
		return
	}
	if lib := blas(t); !strings.Contains(filepath.Base(lib), "openblas") {
		t.Fatalf("cblas_sgemm comes from %s, not from OpenBLAS", lib)
	}
	var d Diff
	suite(&d)
	t.Logf("under OpenBLAS: %v", &d)
	if d.Differing == 0 {
		t.Errorf("the suite finds no differing bits under OpenBLAS, so it proves nothing: %v", &d)
	}
}

// A Diff counts numbers that differ in their bits.
type Diff struct {
	Compared, Differing int
	First               string // where the first difference was
}

// Compare counts the numbers of got that are not want to the bit. where names
// the place in messages.
func (d *Diff) Compare(where string, got, want []float32) {
	if len(got) != len(want) {
		panic(fmt.Sprintf("enginetest: %s: %d numbers against %d", where, len(got), len(want)))
	}
	d.Compared += len(want)
	for i := range want {
		if math.Float32bits(got[i]) == math.Float32bits(want[i]) {
			continue
		}
		if d.Differing++; d.First == "" {
			d.First = fmt.Sprintf("%s: number %d is %g, want %g", where, i, got[i], want[i])
		}
	}
}

// Check fails the test if bits differ, or if nothing was compared.
func (d *Diff) Check(t testing.TB) {
	t.Helper()
	t.Log(d)
	if d.Differing > 0 || d.Compared == 0 {
		t.Errorf("bits differ: %v", d)
	}
}

// String tells the counts.
func (d *Diff) String() string {
	s := fmt.Sprintf("%d of %d numbers differ", d.Differing, d.Compared)
	if d.First != "" {
		s += "; " + d.First
	}
	return s
}

// blas returns the file that MLX's cblas_sgemm comes from.
func blas(t *testing.T) string { return resolved(t, mlx.BLAS()) }

// bitLibrary returns the wheel's BLAS, which lies beside mlx-c's library.
func bitLibrary(t *testing.T) string {
	t.Helper()
	lib := filepath.Dir(resolved(t, mlx.Library()))
	path, err := filepath.EvalSymlinks(filepath.Join(lib, "..", "bit", "libblas.so"))
	if err != nil {
		t.Fatalf("no reference BLAS beside MLX: %v; run `go run ./build setup`", err)
	}
	return path
}

func resolved(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(file)
	if file == "" || err != nil {
		t.Fatalf("no library %q: %v", file, err)
	}
	return path
}
