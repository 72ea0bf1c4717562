package main

import (
	"context"
	"fmt"
	"time"

	"tandem/build/setup"
)

// ciFuzz is how long the test verb tries each of fuzzTargets with new inputs.
const ciFuzz = 5 * time.Second

// fuzzTargets read what comes from other people: files of models, replies of a hub, bodies, and
// reports. All other fuzz tests run on their recorded inputs alone, as tests.
var fuzzTargets = []struct{ pkg, name string }{
	{"./engine/native", "FuzzTemplate"},
	{"./app/bridge", "FuzzManifest"},
	{"./app/jsonschema", "FuzzAdmission"},
	{"./engine/tokenizer", "FuzzPostProcessor"},
	{"./models/gguf", "FuzzHeader"},
	{"./models/hub", "FuzzReply"},
	{"./app/server", "FuzzShapedBody"},
	{"./app/wire", "FuzzEncoderRaw"},
	{"./app/evidence", "FuzzRead"},
}

// fuzz tries each target for some time. go test keeps an input that fails in the package's
// testdata, and `go test` then fails with it.
func fuzz(ctx context.Context, b *setup.Builder, each time.Duration) error {
	for _, t := range fuzzTargets {
		start := time.Now()
		cmd := b.Command(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$",
			"-fuzztime", each.String(), "-fuzzminimizetime", "10x", t.pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s of %s: %w\n%s", t.name, t.pkg, err, out)
		}
		fmt.Fprintf(b.Out, "ok    %7.1f s  %s of %s for %v\n", time.Since(start).Seconds(), t.name,
			t.pkg, each)
	}
	return nil
}
