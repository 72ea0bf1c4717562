package history

import (
	"context"

	"tandem/app/control"
	"tandem/storage"
)

// WouldDelete returns what DeleteCheckpoint would delete. It implements server.Checkpoints.
func (h *History) WouldDelete(ctx context.Context,
	d control.CheckpointDeletion) (control.Deleted, error) {
	row, err := h.findCheckpoint(ctx, d.Checkpoint)
	if err != nil {
		return control.Deleted{}, err
	}
	return h.deletion(ctx, row, d.All)
}

// deletion returns what is deleted with a checkpoint. Error: CodeInvalid if one of them is pinned,
// or if others continue it and all is false.
func (h *History) deletion(ctx context.Context, row storage.Checkpoint,
	all bool) (control.Deleted, error) {
	var out control.Deleted
	tree, err := h.db.Checkpoints.Tree(ctx, row.ID)
	if err != nil {
		return out, err
	}
	pinned := 0
	for _, c := range tree {
		out.Checkpoints = append(out.Checkpoints, c.ID)
		if out.Bytes += c.Bytes; c.Pinned {
			pinned++
		}
	}
	switch {
	case pinned > 0:
		return control.Deleted{}, control.Errorf(control.CodeInvalid,
			"Of %s and the checkpoints that continue it %d are pinned; unpin them first.", row.ID,
			pinned)
	case len(tree) > 1 && !all:
		return control.Deleted{}, control.Errorf(control.CodeInvalid,
			"%d others continue %s and cannot be restored without it; delete all of them together (all).",
			len(tree)-1, row.ID)
	}
	return out, nil
}
