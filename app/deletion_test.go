package app

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// DeleteChat deletes the checkpoints that the answers of the chat left, on disk and in memory.
//   - A checkpoint that another run goes on from stays.
//   - A checkpoint with a name stays, and so do the checkpoints that it continues.
//   - WouldDeleteChats tells the same numbers before.
//   - When a file cannot be deleted, the chat stays.
func TestDeletedChatTakesItsOwnCheckpoints(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	c, ctx := r.client(t), t.Context()
	// complete returns the id of the run that answered the prompt.
	complete := func(prompt string) int64 {
		t.Helper()
		if status, body := r.complete(t, control.Alias, prompt); status != http.StatusOK {
			t.Fatal(status, body)
		}
		runs, err := control.Call(ctx, c, control.ListRuns, control.RunQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return runs.Runs[0].ID
	}
	// left returns the checkpoints of a run once there is one. More may follow.
	left := func(run int64) (list []control.Checkpoint) {
		t.Helper()
		enginetest.Await(t, "the run has left a checkpoint", func() bool {
			for x, err := range c.EachCheckpoint(ctx, "") {
				if err != nil {
					t.Fatal(err)
				}
				if x.Run == run {
					list = append(list, x)
				}
			}
			return len(list) > 0
		})
		return list
	}
	chat := func(run int64) int64 {
		t.Helper()
		x, err := control.Call(ctx, c, control.AddChat, control.ChatRequest{Kind: "chat"})
		if err == nil {
			_, err = control.Call(ctx, c, control.AddMessage, control.NewMessage{
				Chat: x.ID, MessageRequest: control.MessageRequest{Role: "assistant", Content: "so",
					Run: run}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return x.ID
	}
	begin := strings.Repeat("abc ", 40)
	first := complete(begin)
	shared := left(first)
	second := complete(begin + strings.Repeat("xyz ", 40))
	own := left(second)

	talk := chat(second)
	var bytes int64
	for _, x := range own {
		bytes += x.Bytes
	}
	would, err := control.Call(ctx, c, control.WouldDeleteChat, talk)
	if err != nil || would.Chats != 1 || would.Checkpoints < len(own) || would.Bytes < bytes {
		t.Errorf("DeleteChat would delete %+v, %v, want at least %d checkpoints of %d bytes", would, err, len(own), bytes)
	}
	gone, err := control.Call(ctx, c, control.DeleteChat, talk)
	if err != nil || gone.Chats != 1 || gone.Checkpoints < would.Checkpoints ||
		gone.Bytes < would.Bytes {
		t.Errorf("DeleteChat deleted %+v, %v, want at least %+v", gone, err, would)
	}
	for _, x := range slices.Concat(shared, own) {
		_, err := os.Stat(r.history.CheckpointPath(x.ID))
		if stays := x.Run == first; stays && err != nil || !stays &&
			!errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file of a checkpoint of run %d: %v", x.Run, err)
		}
	}
	for x, err := range c.EachCheckpoint(ctx, "") {
		if err != nil || x.Run != first {
			t.Errorf("there still is the checkpoint %+v, %v", x, err)
		}
	}
	if _, err := control.Call(ctx, c, control.VerifyRun,
		control.RunVerification{Run: second}); codeOf(err) != control.CodeNotKept {
		t.Errorf("the tokens of a chat that was deleted: %v", err)
	}

	// A checkpoint with a name stays, and so do the checkpoints that it continues. The chat goes.
	name := "kept"
	if _, err := control.Call(ctx, c, control.ChangeCheckpoint,
		control.CheckpointUpdate{Checkpoint: shared[0].ID, CheckpointChange: control.CheckpointChange{Name: &name}}); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call(ctx, c, control.DeleteChat, chat(first)); err != nil {
		t.Error(err)
	}
	if _, err := control.Call(ctx, c, control.GetCheckpoint,
		control.CheckpointRead{Checkpoint: name}); err != nil {
		t.Error(err)
	}

	// A chat without answers has no checkpoints to delete.
	if gone, err := control.Call(ctx, c, control.DeleteChat, chat(0)); err != nil ||
		gone != (control.DeletedChats{Chats: 1}) {
		t.Errorf("a chat without answers: %+v, %v", gone, err)
	}
	// A checkpoint whose file cannot be deleted keeps its chat.
	third := complete(strings.Repeat("qrs ", 40))
	stuck := r.history.CheckpointPath(left(third)[0].ID)
	if err := errors.Join(os.Remove(stuck), os.MkdirAll(stuck+"/full", 0o700)); err != nil {
		t.Fatal(err)
	}
	id := chat(third)
	if _, err := control.Call(ctx, c, control.DeleteChat, id); codeOf(err) != control.CodeFolder {
		t.Errorf("a checkpoint that cannot be deleted: %v", err)
	}
	if _, err := control.Call(ctx, c, control.GetChat, id); err != nil {
		t.Errorf("the chat is gone, and its checkpoint is not: %v", err)
	}
	if err := os.RemoveAll(stuck); err != nil {
		t.Fatal(err)
	}
	// The deletion goes on when its caller has left.
	asked, leave := context.WithCancel(ctx)
	leave()
	if _, err := r.chats.DeleteChats(asked, id); err != nil {
		t.Error(err)
	}
}
