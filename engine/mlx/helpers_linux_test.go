package mlx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOptionsSayHowManyThreadsShareAnOperation counts the threads that help with a product and with
// attention. Each case has a process of its own, because helpers live as long as it.
func TestOptionsSayHowManyThreadsShareAnOperation(t *testing.T) {
	const variable = "TANDEM_TEST_THREADS"
	if threads := os.Getenv(variable); threads != "" {
		n, err := strconv.Atoi(threads)
		if err != nil {
			t.Fatal(err)
		}
		useHelpers(t, n)
		fmt.Printf("helpers %d, BLAS %d\n", countHelpers(t), usedBLASThreads())
		return
	}
	all := blasThreads() // one for each processor
	for _, c := range []struct {
		options       int
		env           string
		helpers, blas int
	}{
		{options: 1, helpers: 0, blas: 1},
		{options: 3, helpers: 2, blas: min(all, 3)},
		{env: "GOMAXPROCS=1", helpers: 0, blas: 1}, // as a quota of one processor
		{env: "OPENBLAS_NUM_THREADS=1", helpers: 0, blas: 1},
		{options: 2, env: "GOMAXPROCS=1", helpers: 1, blas: min(all, 2)},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(c.options))
		if c.env != "" {
			cmd.Env = append(cmd.Env, c.env)
		}
		want := fmt.Sprintf("helpers %d, BLAS %d\n", c.helpers, c.blas)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("Threads %d, %s: %s, %v, want %s", c.options, c.env, out, err, want)
		}
	}
}

// useHelpers runs a product and attention that are large enough to be shared.
func useHelpers(t *testing.T, threads int) {
	th, err := NewThread(Options{CPU: true, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	do(t, th, func(s *Scope) error {
		return s.Eval(
			s.TiledMatMul(s.Zeros(Float32, 64, 512), s.Zeros(Float32, 512, 512)),
			s.TiledAttention(s.Zeros(Float32, 1, 8, 256, 64), s.Zeros(Float32, 1, 8, 256, 64),
				s.Zeros(Float32, 1, 8, 256, 64), AttentionOptions{Causal: true}))
	})
}

// countHelpers returns how many threads of this process have the name of a helper.
func countHelpers(t *testing.T) (n int) {
	t.Helper()
	time.Sleep(50 * time.Millisecond) // threads name themselves, after they were made
	paths, err := filepath.Glob("/proc/self/task/*/comm")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d threads, %v", len(paths), err)
	}
	for _, path := range paths {
		if name, _ := os.ReadFile(path); strings.TrimSpace(string(name)) == "mlx-helper" {
			n++
		}
	}
	return n
}
