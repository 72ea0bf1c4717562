package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/bench"
)

// Benches that start a tandem say which. A file that does not run is refused before any measurement.
func TestServingBenchesSayWhichTandem(t *testing.T) {
	program := filepath.Join(t.TempDir(), "tandem")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho tandem 1.2+$1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		name string
		with func(program string) bench.Options
		want string // version
	}{
		{"start", func(p string) bench.Options { return &startOptions{p} }, "1.2+version"},
		{"endpoint", func(p string) bench.Options { return &endpointOptions{program: p} }, "1.2+version"},
		{"endpoint --only soak",
			func(p string) bench.Options { return &endpointOptions{program: p, only: "soak"} }, "1.2+version"},
		{"endpoint --only schema, which starts none",
			func(p string) bench.Options { return &endpointOptions{program: p, only: "schema"} }, ""},
	} {
		b, err := o.with(program).Open(t.Context(), bench.Env{})
		if err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
		if got := b.Header().Versions["tandem"]; got != o.want {
			t.Errorf("%s: the header has the version %q, want %q", o.name, got, o.want)
		}
		for _, p := range []string{"", program + ".none"} {
			_, err := o.with(p).Open(t.Context(), bench.Env{})
			if refused := err != nil && strings.Contains(err.Error(), "--tandem FILE"); refused != (o.want != "") {
				t.Errorf("%s with the tandem %q: %v", o.name, p, err)
			}
		}
	}
}

// Benches of plain decoding know the retrieval model by its name.
func TestPlainBenchesTakeTheRetrievalModel(t *testing.T) {
	of := plainOptions{bench.ModelOptions{Model: RetrievalModel}, retrievalFolder(t)}
	t.Chdir(t.TempDir())
	for name, o := range map[string]bench.Options{"contexts": &contextOptions{of}, "memory": &memoryOptions{of}} {
		b, err := o.Open(t.Context(), bench.Env{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
