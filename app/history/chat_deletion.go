package history

import (
	"context"

	"tandem/app/control"
	"tandem/storage"
)

// WouldDeleteChats returns what DeleteChats would delete.
func (cs *Chats) WouldDeleteChats(ctx context.Context, id int64) (control.DeletedChats, error) {
	gone, err := cs.db.Chats.WouldDelete(ctx, id)
	return describeDeletion(gone), chatError(err)
}

// DeleteChats deletes a chat, or all chats for id 0, with the checkpoints of their runs.
func (cs *Chats) DeleteChats(ctx context.Context, id int64) (control.DeletedChats, error) {
	ctx = context.WithoutCancel(ctx)
	gone, err := cs.db.Chats.WouldDelete(ctx, id)
	return cs.deleteWithRuns(ctx, gone, err,
		func(rest func([]string, []int64) error) (storage.DeletedChats, error) {
			return cs.db.Chats.Delete(ctx, id, rest)
		})
}

// WouldDeleteMessage returns what DeleteMessage would delete.
func (cs *Chats) WouldDeleteMessage(ctx context.Context,
	m control.MessageID) (control.DeletedChats, error) {
	gone, err := cs.db.Chats.WouldDeleteMessage(ctx, m.Chat, m.ID)
	return describeDeletion(gone), chatError(err)
}

// DeleteMessage deletes a message of a chat with all that follow it, and with the checkpoints of
// their runs.
func (cs *Chats) DeleteMessage(ctx context.Context,
	m control.MessageID) (control.DeletedChats, error) {
	ctx = context.WithoutCancel(ctx)
	gone, err := cs.db.Chats.WouldDeleteMessage(ctx, m.Chat, m.ID)
	return cs.deleteWithRuns(ctx, gone, err,
		func(rest func([]string, []int64) error) (storage.DeletedChats, error) {
			return cs.db.Chats.DeleteMessage(ctx, m.Chat, m.ID, rest)
		})
}

// deleteWithRuns calls drop, which deletes what gone names. Its argument deletes what else is kept
// of the runs.
func (cs *Chats) deleteWithRuns(ctx context.Context, gone storage.DeletedChats, err error,
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
			if err := deleteCheckpointFiles(cs.home, checkpoints); err != nil {
				return err
			}
			return folderError(cs.pool.Texts.ForgetRuns(runs))
		})
		return err
	}
	if gone.Runs > 0 {
		err = cs.pool.Forget(ctx, remove)
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
