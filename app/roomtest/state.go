package roomtest

import (
	"context"

	"tandem/app/control"
)

func (f *Backend) SetPhase(p control.Phase) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Phase = p
}

func (f *Backend) State() control.State {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	in := control.Loaded{ID: f.Model.Name, ContextLength: f.Model.Context, Device: "cpu",
		Dtype: "float32"}
	s := control.State{Version: "test", PID: 42, Phase: f.Phase, Welcome: f.Welcome,
		Choice: f.Model.Name, Address: "http://127.0.0.1:8263",
		Loaded: &in, InMemory: []control.Loaded{in}, ActiveBytes: 1 << 20, PeakBytes: 2 << 20,
		Models:    []control.Choosable{{ID: f.Model.Name}},
		Downloads: append([]control.Download{}, f.Downloads...)}
	if f.OnState != nil {
		f.OnState(&s)
	}
	return s
}

func (f *Backend) Welcomed(_ context.Context, done bool) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Welcome = !done
	return nil
}

func (f *Backend) Machine(context.Context) (control.Machine, error) {
	return control.Machine{Chip: "a chip", Cores: 8, FastCores: 4, Memory: 1 << 34, Room: 1 << 33,
		System: "a system 1.0", Kind: "darwin/arm64", Engine: "MLX on the GPU"}, nil
}
