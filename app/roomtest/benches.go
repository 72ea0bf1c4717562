package roomtest

import (
	"context"

	"tandem/app/control"
)

// benches has one bench, and runs the function of a test.
type benches struct {
	OnBench func(ctx context.Context, progress func(control.BenchProgress)) (control.Bench, error)
}

func (f *benches) Benches(context.Context) (control.Benches, error) {
	return control.Benches{Benches: []control.Bench{{ID: 1, Model: "acme/coder"}}}, nil
}

func (f *benches) RunBench(ctx context.Context,
	progress func(control.BenchProgress)) (control.Bench, error) {
	return f.OnBench(ctx, progress)
}

func (f *benches) CancelBench(context.Context) error {
	return control.Errorf(control.CodeNoBench, "No bench is running.")
}

func (f *benches) DeleteBench(_ context.Context, id int64) error {
	if id != 1 {
		return control.Errorf(control.CodeNoBench, "There is no bench %d.", id)
	}
	return nil
}
