package roomtest

import (
	"context"

	"tandem/app/control"
)

// checkpoints has one checkpoint.
type checkpoints struct {
	OnDisk control.Checkpoint
	Listed control.CheckpointQuery // of the last list
}

// Checkpoints lists one checkpoint with the letters a to z as its text.
func (f *checkpoints) Checkpoints(_ context.Context,
	q control.CheckpointQuery) (control.CheckpointList, error) {
	f.Listed = q
	return control.CheckpointList{Checkpoints: []control.Checkpoint{f.OnDisk}, Next: "2",
		Count: 7, Bytes: 70}, nil
}

// CheckpointTitles has a title only for OnDisk.
func (f *checkpoints) CheckpointTitles(_ context.Context,
	ids []string) (list []control.CheckpointTitle, err error) {
	for _, id := range ids {
		if id == f.OnDisk.ID {
			list = append(list, control.CheckpointTitle{ID: id, Title: "About " + id})
		}
	}
	return list, nil
}

func (f *checkpoints) Checkpoint(_ context.Context,
	q control.CheckpointRead) (control.Checkpoint, error) {
	if q.Checkpoint != f.OnDisk.ID {
		return control.Checkpoint{}, control.Errorf(control.CodeNoCheckpoint,
			"There is no checkpoint %q.", q.Checkpoint)
	}
	c := f.OnDisk
	if c.Text = "xyz"; q.Whole {
		c.Text = "abcdefghijklmnopqrstuvwxyz"
	}
	return c, nil
}

func (f *checkpoints) CheckpointText(ctx context.Context, name string) (c control.Checkpoint,
	ids []int32, err error) {
	for id := 'a'; id <= 'z'; id++ {
		ids = append(ids, id)
	}
	c, err = f.Checkpoint(ctx, control.CheckpointRead{Checkpoint: name})
	return c, ids, err
}

func (f *checkpoints) ChangeCheckpoint(ctx context.Context, name string,
	change control.CheckpointChange) (control.Checkpoint, error) {
	if change.Name != nil {
		f.OnDisk.Name = *change.Name
	}
	if change.Pinned != nil {
		f.OnDisk.Pinned = *change.Pinned
	}
	return f.Checkpoint(ctx, control.CheckpointRead{Checkpoint: name})
}

func (f *checkpoints) DeleteCheckpoint(ctx context.Context,
	d control.CheckpointDeletion) (control.Deleted, error) {
	_, err := f.Checkpoint(ctx, control.CheckpointRead{Checkpoint: d.Checkpoint})
	return control.Deleted{Checkpoints: []string{d.Checkpoint}}, err
}

func (f *checkpoints) WouldDelete(ctx context.Context,
	d control.CheckpointDeletion) (control.Deleted, error) {
	gone, err := f.DeleteCheckpoint(ctx, d)
	if gone.Bytes = 5; d.All {
		gone.Bytes = 9
	}
	return gone, err
}

func (f *checkpoints) VerifyCheckpoint(
	ctx context.Context, name string,
) (control.Integrity, error) {
	_, err := f.Checkpoint(ctx, control.CheckpointRead{Checkpoint: name})
	return control.Integrity{ID: name}, err
}
