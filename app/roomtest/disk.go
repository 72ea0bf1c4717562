package roomtest

import (
	"context"

	"tandem/app/control"
)

func (f *Backend) Storage(context.Context) (control.Storage, error) {
	return control.Storage{Home: "/home", ByDay: []control.Usage{{Name: "2026-11-22", Runs: 3,
		Bytes: 5}}}, nil
}

func (f *Backend) Removal(ctx context.Context, id string) (control.Removal, error) {
	return f.RemoveModel(ctx, id)
}

func (f *Backend) ForgetTexts(_ context.Context, key int64) (control.Forgotten, error) {
	return control.Forgotten{Tokens: int(key)}, nil
}

func (f *Backend) WouldForget(
	_ context.Context, q control.ForgetRequest,
) (control.Forgotten, error) {
	f.Forgot = q
	return control.Forgotten{Runs: 2, Bytes: 700}, nil
}

func (f *Backend) WouldDelete(
	ctx context.Context, name string, all bool,
) (control.Deleted, error) {
	d, err := f.DeleteCheckpoint(ctx, name, all)
	if d.Bytes = 5; all {
		d.Bytes = 9
	}
	return d, err
}
