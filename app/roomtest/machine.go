package roomtest

import (
	"context"

	"tandem/app/control"
)

func (f *Backend) Machine(context.Context) (control.Machine, error) {
	return control.Machine{Chip: "a chip", Cores: 8, FastCores: 4, Memory: 1 << 34, Room: 1 << 33,
		System: "a system 1.0", Kind: "darwin/arm64", Engine: "MLX on the GPU"}, nil
}

// CheckpointTitles has a title only for the fake's own checkpoint.
func (f *Backend) CheckpointTitles(_ context.Context,
	ids []string) (list []control.CheckpointTitle, err error) {
	for _, id := range ids {
		if id == f.OnDisk.ID {
			list = append(list, control.CheckpointTitle{ID: id, Title: "About " + id})
		}
	}
	return list, nil
}

func (f *Backend) ResumedBy(_ context.Context, run int64) (by int64, err error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for _, r := range f.Rows {
		if r.Resumes == run {
			by = r.ID
		}
	}
	return by, nil
}
