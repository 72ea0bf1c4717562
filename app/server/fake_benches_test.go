package server

import (
	"context"

	"tandem/app/control"
)

// fakeBenches has one bench, and runs the function of a test.
type fakeBenches struct {
	bench func(ctx context.Context, progress func(control.BenchProgress)) (control.Bench, error)
}

func (f *fakeBenches) Benches(context.Context) (control.Benches, error) {
	return control.Benches{Benches: []control.Bench{{ID: 1, Model: "acme/coder"}}}, nil
}

func (f *fakeBenches) RunBench(ctx context.Context,
	progress func(control.BenchProgress)) (control.Bench, error) {
	return f.bench(ctx, progress)
}

func (f *fakeBenches) CancelBench(context.Context) error {
	return control.Errorf(control.CodeNoBench, "No bench is running.")
}

func (f *fakeBenches) DeleteBench(_ context.Context, id int64) error {
	if id != 1 {
		return control.Errorf(control.CodeNoBench, "There is no bench %d.", id)
	}
	return nil
}
