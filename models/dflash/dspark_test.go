package dflash_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models/dflash"
)

// TestTrustIsThatOfTheReference compares what DSpark drafters say of the recorded guesses.
func TestTrustIsThatOfTheReference(t *testing.T) {
	cases, err := filepath.Glob("testdata/parity/dspark*/fixture.json")
	if err != nil || len(cases) < 4 {
		t.Fatalf("%d recorded cases, %v", len(cases), err)
	}
	th := enginetest.NewThread(t)
	guesses, silent := 0, 0
	for _, name := range cases {
		f := openFixture(t, filepath.Base(filepath.Dir(name)))
		on := newTarget(t, th, f, mlx.Float32)
		blocks := f.read(t, th, on)
		m := open(t, th, f.weights, f.config, on, f.Settings)
		var want []float32
		if _, ok := f.blocks.Info("confidence"); ok {
			enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
				want, err = mlx.Read[float32](s, f.blocks.Load(s, "confidence"))
				return err
			})
		} else {
			silent++
		}
		p := &path{m: m, on: on, known: f.Known, caches: m.NewCaches(cache.Options{})}
		for i, b := range blocks {
			p.extend(t, th, b.Context, 32)
			got := p.trust(t, th, b)
			if want == nil {
				if got != nil {
					t.Errorf("%s, block %d: it says %v without a head for that", name, i, got)
				}
				continue
			}
			guesses += b.N
			for j, v := range got {
				if d := v - want[j]; !(d < 1e-5 && d > -1e-5) {
					t.Errorf("%s, block %d: guess %d is right by %g, not %g", name, i, j, v, want[j])
				}
			}
			want = want[b.N:]
		}
		if len(want) > 0 {
			t.Errorf("%s: %d recorded numbers are left over", name, len(want))
		}
		p.free(t, th)
	}
	if guesses < 150 || silent != 1 {
		t.Errorf("%d guesses are recorded with trust, and %d cases without", guesses, silent)
	}
}

// trust returns what a drafter says of a block's recorded guesses, nil if nothing.
func (p *path) trust(t *testing.T, th *mlx.Thread, b dflash.RecordedBlock) (got []float32) {
	t.Helper()
	begin := append([]int32{b.Anchor}, p.known...)
	before := append(begin[len(begin)-1:], b.Drafts[:b.N-1]...)
	enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
		hidden := p.m.Forward(s, nil, mlx.New(s, begin, len(begin)), b.N, b.Context, p.caches)
		if trust := p.m.Trust(s, hidden, mlx.New(s, before, b.N)); trust != nil {
			got, err = mlx.Read[float32](s, trust)
		}
		return err
	})
	return got
}

// TestSparkTakesFieldsFromBothPlaces reads a config.json without dflash_config, as some are
// published.
func TestSparkTakesFieldsFromBothPlaces(t *testing.T) {
	f := openFixture(t, "dspark")
	var config map[string]any
	if err := json.Unmarshal(f.config, &config); err != nil {
		t.Fatal(err)
	}
	nested := config["dflash_config"].(map[string]any)
	delete(config, "dflash_config")
	delete(nested, "projector_type")
	maps.Copy(config, nested)
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	th := enginetest.NewThread(t)
	on := newTarget(t, th, f, mlx.Float32)
	m := open(t, th, f.weights, text, on, dflash.Settings{})
	if c := run(t, th, f, m, on, 0); !isEqual(c) {
		t.Errorf("%+v", c)
	}
}
