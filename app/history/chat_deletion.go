package history

import (
	"context"

	"tandem/app/control"
	"tandem/storage"
)

// WouldDeleteChats returns what DeleteChats would delete.
func (cs *Chats) WouldDeleteChats(ctx context.Context, id int64) (control.DeletedChats, error) {
	return cs.WouldDeleteMessage(ctx, control.MessageID{Chat: id})
}

// DeleteChats deletes a chat, or all chats for id 0, with the checkpoints of their runs.
func (cs *Chats) DeleteChats(ctx context.Context, id int64) (control.DeletedChats, error) {
	return cs.DeleteMessage(ctx, control.MessageID{Chat: id})
}

// WouldDeleteMessage returns what DeleteMessage would delete.
func (cs *Chats) WouldDeleteMessage(ctx context.Context,
	m control.MessageID) (control.DeletedChats, error) {
	gone, err := cs.db.Chats.WouldDelete(ctx, m.Chat, m.ID)
	return describeDeletion(gone), chatError(err)
}

// DeleteMessage deletes a message of a chat with all that follow it, and with the checkpoints of
// their runs. Without a message it deletes the chat.
func (cs *Chats) DeleteMessage(ctx context.Context,
	m control.MessageID) (control.DeletedChats, error) {
	ctx = context.WithoutCancel(ctx)
	gone, err := cs.db.Chats.WouldDelete(ctx, m.Chat, m.ID)
	if err != nil {
		return control.DeletedChats{}, chatError(err)
	}
	remove := func() (err error) {
		gone, err = cs.db.Chats.Delete(ctx, m.Chat, m.ID, func(checkpoints []string, runs []int64) error {
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
	return describeDeletion(gone), chatError(err)
}

func describeDeletion(d storage.DeletedChats) control.DeletedChats {
	return control.DeletedChats{Chats: d.Chats, Checkpoints: len(d.Checkpoints), Bytes: d.Bytes}
}
