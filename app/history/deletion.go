package history

import (
	"context"

	"tandem/app/control"
	"tandem/storage"
)

// WouldDelete returns what DeleteCheckpoint would delete. It implements server.Checkpoints.
func (h *History) WouldDelete(ctx context.Context, name string, all bool) (control.Deleted, error) {
	row, err := h.findCheckpoint(ctx, name)
	if err != nil {
		return control.Deleted{}, err
	}
	return h.deletion(ctx, row, all)
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
			"%d others continue %s and cannot be restored without it; `tandem checkpoints delete --all %s` deletes them too.",
			len(tree)-1, row.ID, row.ID)
	}
	return out, nil
}

// WouldDeleteChats returns what DeleteChats would delete. It implements server.Chats.
func (h *History) WouldDeleteChats(ctx context.Context, id int64) (control.DeletedChats, error) {
	gone, err := h.db.Chats.WouldDelete(ctx, id)
	return describeDeletion(gone), chatError(err)
}

// DeleteChats deletes a chat, or all chats for id 0, with the checkpoints of their runs. It
// implements server.Chats.
func (h *History) DeleteChats(ctx context.Context, id int64) (control.DeletedChats, error) {
	ctx = context.WithoutCancel(ctx)
	gone, err := h.db.Chats.WouldDelete(ctx, id)
	return h.deleteWithRuns(ctx, gone, err,
		func(rest func([]string, []int64) error) (storage.DeletedChats, error) {
			return h.db.Chats.Delete(ctx, id, rest)
		})
}

// WouldDeleteMessage returns what DeleteMessage would delete. It implements server.Chats.
func (h *History) WouldDeleteMessage(ctx context.Context, chat, id int64) (control.DeletedChats,
	error) {
	gone, err := h.db.Chats.WouldDeleteMessage(ctx, chat, id)
	return describeDeletion(gone), chatError(err)
}

// DeleteMessage deletes a message of a chat with all that follow it, and with the checkpoints of
// their runs. It implements server.Chats.
func (h *History) DeleteMessage(ctx context.Context, chat, id int64) (control.DeletedChats, error) {
	ctx = context.WithoutCancel(ctx)
	gone, err := h.db.Chats.WouldDeleteMessage(ctx, chat, id)
	return h.deleteWithRuns(ctx, gone, err,
		func(rest func([]string, []int64) error) (storage.DeletedChats, error) {
			return h.db.Chats.DeleteMessage(ctx, chat, id, rest)
		})
}

// deleteWithRuns calls drop, which deletes what gone names. Its argument deletes what else is kept
// of the runs.
func (h *History) deleteWithRuns(ctx context.Context, gone storage.DeletedChats, err error,
	drop func(rest func([]string, []int64) error) (storage.DeletedChats, error),
) (control.DeletedChats, error) {
	if err != nil {
		return control.DeletedChats{}, chatError(err)
	}
	remove := func() (err error) {
		gone, err = drop(func(checkpoints []string, runs []int64) error {
			if len(runs) == 0 {
				return nil
			}
			if err := h.deleteCheckpointFiles(checkpoints); err != nil {
				return err
			}
			return folderError(h.pool.ForgetTextsOfRuns(runs))
		})
		return err
	}
	if gone.Runs > 0 {
		err = h.pool.Forget(ctx, remove)
	} else { // no run belongs to it
		err = remove()
	}
	if err != nil {
		return control.DeletedChats{}, chatError(err)
	}
	return describeDeletion(gone), nil
}

func describeDeletion(d storage.DeletedChats) control.DeletedChats {
	return control.DeletedChats{Chats: d.Chats, Checkpoints: len(d.Checkpoints), Bytes: d.Bytes}
}
