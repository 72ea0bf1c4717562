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
	"time"

	"tandem/app/control"
)

// TestDeleteChatTakesCheckpoints: with a chat go the files that its answers left and
// nothing else goes on from, from memory too, and as many bytes as were named.
func TestDeleteChatTakesCheckpoints(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	c, ctx := r.client(t), t.Context()
	// complete returns the run that answered, once what it left is on disk.
	complete := func(prompt string) int64 {
		t.Helper()
		if status, body := r.complete(t, control.Alias, prompt); status != http.StatusOK {
			t.Fatal(status, body)
		}
		runs, err := c.Runs(ctx, control.RunQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return runs[0].ID
	}
	// left is what a run left, once there is some of it; more may come.
	left := func(run int64) (list []control.Checkpoint) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			for x, err := range c.EachCheckpoint(ctx, "") {
				if err != nil {
					t.Fatal(err)
				}
				if x.Run == run {
					list = append(list, x)
				}
			}
			if len(list) > 0 {
				return list
			}
			if time.Now().After(deadline) {
				t.Fatalf("run %d left nothing", run)
			}
		}
	}
	chat := func(run int64) int64 {
		t.Helper()
		x, err := c.AddChat(ctx, control.Chat{Kind: "chat"})
		if err == nil {
			_, err = c.AddMessage(ctx, control.Message{Chat: x.ID, Role: "assistant", Content: "so",
				Run: run})
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
	would, err := c.WouldDeleteChats(ctx, talk)
	if err != nil || would.Chats != 1 || would.Checkpoints < len(own) || would.Bytes < bytes {
		t.Errorf("would go %+v, %v, of %d with %d bytes", would, err, len(own), bytes)
	}
	gone, err := c.DeleteChat(ctx, talk)
	if err != nil || gone.Chats != 1 || gone.Checkpoints < would.Checkpoints ||
		gone.Bytes < would.Bytes {
		t.Errorf("gone are %+v, %v, and %+v was said", gone, err, would)
	}
	for _, x := range slices.Concat(shared, own) {
		_, err := os.Stat(r.history.CheckpointPath(x.ID))
		if stays := x.Run == first; stays && err != nil || !stays &&
			!errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file of run %d: %v", x.Run, err)
		}
	}
	for x, err := range c.EachCheckpoint(ctx, "") {
		if err != nil || x.Run != first {
			t.Errorf("left is %+v, %v", x, err)
		}
	}
	if _, err := c.VerifyRun(ctx, second); codeOf(err) != control.CodeNotKept {
		t.Errorf("the tokens of a chat that was deleted: %v", err)
	}

	// What was given a name stays, and what it goes on from; the chat goes all the same.
	name := "kept"
	if _, err := c.ChangeCheckpoint(ctx, shared[0].ID,
		control.CheckpointChange{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteChat(ctx, chat(first)); err != nil {
		t.Error(err)
	}
	if _, err := c.Checkpoint(ctx, name); err != nil {
		t.Error(err)
	}

	// A chat without answers waits for nothing; a folder that cannot be emptied keeps a chat.
	if gone, err := c.DeleteChat(ctx, chat(0)); err != nil ||
		gone != (control.DeletedChats{Chats: 1}) {
		t.Errorf("without answers %+v, %v", gone, err)
	}
	third := complete(strings.Repeat("qrs ", 40))
	stuck := r.history.CheckpointPath(left(third)[0].ID)
	if err := errors.Join(os.Remove(stuck), os.MkdirAll(stuck+"/full", 0o700)); err != nil {
		t.Fatal(err)
	}
	id := chat(third)
	if _, err := c.DeleteChat(ctx, id); codeOf(err) != control.CodeFolder {
		t.Errorf("a folder that cannot be emptied: %v", err)
	}
	if _, err := c.Chat(ctx, id); err != nil {
		t.Errorf("the chat is gone, and its checkpoints are not: %v", err)
	}
	if err := os.RemoveAll(stuck); err != nil {
		t.Fatal(err)
	}
	asked, leave := context.WithCancel(ctx)
	leave()
	if _, err := r.history.DeleteChats(asked, id); err != nil { // whoever asked may have left
		t.Error(err)
	}
}
