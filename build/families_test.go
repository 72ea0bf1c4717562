package main

import (
	"os"
	"strings"
	"testing"
)

// TestReportAddsUpFamilies expects the costs of two tests of a family in its line, of a process that
// a test started too.
func TestReportAddsUpFamilies(t *testing.T) {
	const events = `{"Action":"output","Package":"tandem/a","Test":"TestX","Output":"    x_test.go:1: cost of gemma4: 1.250 s\n"}
{"Action":"pass","Package":"tandem/a","Test":"TestX","Elapsed":1}
{"Action":"output","Package":"tandem/b","Test":"TestY","Output":"    bit.go:1: in the bit tier:\n"}
{"Action":"output","Package":"tandem/b","Test":"TestY","Output":"            y_test.go:1: cost of gemma4_text: 9.500 s\n"}
{"Action":"output","Package":"tandem/b","Test":"TestY","Output":"            y_test.go:1: cost of qwen3_5: 0.300 s\n"}
{"Action":"pass","Package":"tandem/b","Test":"TestY","Elapsed":3}
`
	var out strings.Builder
	r := newTestReport(&out)
	var err error
	if r.costs.packages, err = familyPackages(".."); err != nil {
		t.Fatal(err)
	}
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	r.costs.print(&out, true)
	const want = `tests of models/gemma4:       10.8 processor seconds (more than 10 s)
tests of models/qwen35:        0.3 processor seconds
`
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
}

// Every model_type lies in a package of models.
func TestFamiliesArePackages(t *testing.T) {
	packages, err := familyPackages("..")
	if err != nil || len(packages) < 20 {
		t.Fatalf("%d families, %v", len(packages), err)
	}
	for modelType, name := range packages {
		if _, err := os.Stat("../models/" + name); err != nil {
			t.Errorf("%s: %v", modelType, err)
		}
	}
}
