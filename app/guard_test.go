package app

import (
	"errors"
	"math"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models"
)

const gib = 1 << 30

func TestRoomFor(t *testing.T) {
	for _, c := range []struct{ memory, want int64 }{
		{0, math.MaxInt64}, // not known
		{1 * gib, 0},
		{8 * gib, 6 * gib},
		{16 * gib, 12 * gib},
		{64 * gib, 48 * gib},
	} {
		if got := roomFor(c.memory); got != c.want {
			t.Errorf("of %d GB models may take %d bytes, want %d", c.memory/gib, got, c.want)
		}
	}
}

// TestFit: a context that was asked for is taken or refused; otherwise it is the
// longest that fits, down to a shortest.
func TestFit(t *testing.T) {
	// 2 layers of 2 heads of 16 keep 512 bytes a token in float32; the window of the
	// Gemma's third keeps all 4096 in two of three.
	f, err := models.Measure(enginetest.TinyModel(t, "llama"))
	if err != nil {
		t.Fatal(err)
	}
	row := f.Text(1, true)
	weights := f.Weights(true)
	long := f
	long.ContextLength = 100_000
	for _, c := range []struct {
		name    string
		of      models.Footprint
		drafter int64
		asked   int
		room    int64
		context int
		ok      bool
	}{
		{"all of it", f, 0, 0, weights + 4096*row, 4096, true},
		{"not known how much there is", f, 0, 0, math.MaxInt64, 4096, true},
		{"a byte too little", f, 0, 0, weights + 4096*row - 1, 4096, false}, // 4096 is the shortest there is
		{"cut", long, 0, 0, weights + 10_000*row, 9 * 1024, true},
		{"cut to the shortest", long, 0, 0, weights + 4096*row, 4096, true},
		{"not even the shortest", long, 0, 0, weights + 4095*row, 4096, false},
		{"not the weights", long, 0, 0, weights - 1, 4096, false},
		{"as asked", long, 0, 10_000, weights + 10_000*row, 10_000, true},
		{"asked for too much", long, 0, 10_001, weights + 10_000*row, 10_001, false},
		{"asked for a short one", long, 0, 100, weights + 100*row, 100, true},
		{"asked for more than the model has", f, 0, 8192, weights + 4096*row, 4096, true},
		{"with a drafter", long, 1 << 20, 0, weights + 1<<20 + 5000*row, 4096, true},
		{"a drafter too many", long, 1 << 20, 0, weights + 4096*row, 4096, false},
	} {
		d, ok := fit(loadable{c.of, c.drafter, true}, c.asked, c.room)
		if d.context != c.context || ok != c.ok || d.weights != weights+c.drafter || d.text != int64(d.context)*row {
			t.Errorf("%s: %+v, %t; want a context of %d, %t", c.name, d, ok, c.context, c.ok)
		}
	}
}

// TestMemoryGuard: a model that does not fit is refused with the figures, and the
// one in memory goes on. The pocket model is served on whatever machine.
func TestMemoryGuard(t *testing.T) {
	small, large := writeModel(t, "small"), writeModel(t, "large")
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Model: small})
	if err != nil {
		t.Fatal(err)
	}
	r := serving(t, a, ServeOptions{Addr: "127.0.0.1:0"})
	if _, err := a.AddModel(t.Context(), control.AddRequest{Path: large}); err != nil {
		t.Fatal(err)
	}
	if status, body := r.complete(t, "small", "abc"); status != 200 {
		t.Fatal(status, body)
	}
	a.opts.Memory = 2<<30 + 1<<10 // 1 KiB for models
	err = a.Load(t.Context(), "large")
	e, ok := errors.AsType[*control.Error](err)
	if !ok || e.Code != control.CodeMemory || !strings.Contains(e.Message, "large needs 0.0 GB") || !strings.Contains(e.Message, "4,096 tokens") ||
		!strings.Contains(e.Message, "this machine's 2.0 GB") || !strings.Contains(e.Message, "choose a smaller model") {
		t.Errorf("loading it gives %v", err)
	}
	if status, body := r.complete(t, "large", "abc"); status != 507 || !strings.Contains(body, `"code":"memory_short"`) {
		t.Errorf("a request for it gets %d %s", status, body)
	}
	if st := a.State(); st.Loaded == nil || st.Loaded.ID != "small" || st.Choice != "small" {
		t.Errorf("what was loaded did not stay: %+v", st.Loaded)
	}
	if err := a.Load(t.Context(), "pocket"); err != nil {
		t.Errorf("the pocket model: %v", err)
	}
}

// TestShortContext: where the whole context does not fit it is cut, unless it was
// asked for.
func TestShortContext(t *testing.T) {
	dir := longModel(t)
	f, err := models.Measure(dir)
	if err != nil {
		t.Fatal(err)
	}
	most := f.Weights(true) + f.Text(5*1024, true)
	memory := most + 2<<30 // a quarter of it is less
	r := start(t, Options{Model: dir, Memory: memory}, "127.0.0.1:0")
	if status, body := r.complete(t, control.Alias, "abc"); status != 200 {
		t.Fatal(status, body)
	}
	if got := r.State().Loaded.ContextLength; got != 5*1024 {
		t.Errorf("the context is %d of %d, want %d", got, f.ContextLength, 5*1024)
	}
	asking := start(t, Options{Model: dir, Memory: memory, ContextLength: 6 * 1024}, "127.0.0.1:0")
	if status, body := asking.complete(t, control.Alias, "abc"); status != 507 || !strings.Contains(body, "shorter context") {
		t.Errorf("a context that does not fit: %d %s", status, body)
	}
}
