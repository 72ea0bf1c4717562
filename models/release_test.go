package models_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestCancelledLoadStops cancels in the middle. Progress is not called again.
func TestCancelledLoadStops(t *testing.T) {
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	files := tiny(t, "llama")
	ctx, cancel := context.WithCancel(t.Context())
	late := 0
	_, err := models.OpenFS(files, "").Load(ctx, th, models.Options{Progress: func(done, total int64) {
		if ctx.Err() != nil {
			late++
		}
		if done > total/2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if late > 0 {
		t.Errorf("progress was told %d times after the load was cancelled", late)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// TestPanicInLoadFreesWeights expects that a panic releases the weights that were kept before it.
func TestPanicInLoadFreesWeights(t *testing.T) {
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	_, err := models.OpenFS(tiny(t, "llama"), "").Load(t.Context(), th, models.Options{Progress: func(done, total int64) {
		if done > total/2 {
			panic("on purpose")
		}
	}})
	if _, ok := errors.AsType[*mlx.PanicError](err); !ok {
		t.Errorf("got %v, want a panic", err)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// TestFailedLoadsReleaseTemplates measures the process, since Go does not see the memory of a
// compiled template.
func TestFailedLoadsReleaseTemplates(t *testing.T) {
	th := enginetest.NewThread(t)
	files := tiny(t, "llama")
	files["chat_template.jinja"] = &fstest.MapFile{Data: []byte(strings.Repeat("{{ x + 1 }}\n",
		1<<15))}
	delete(files, "model.safetensors")
	fail := func(times int) (most int64) {
		for range times {
			if _, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{}); err == nil {
				t.Fatal("a model without weights was loaded")
			}
			runtime.GC()
		}
		return peak(t)
	}
	before := fail(8)
	if after := fail(32); after > before+32<<20 {
		t.Errorf("the process grew from %d to %d MiB over failed loads", before>>20, after>>20)
	}
}

// peak returns the largest resident size of this process so far, in bytes.
func peak(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss << 10
}
