package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/pool"
	"tandem/engine/checkpoint"
	"tandem/storage"
)

// durable is the longest time until a captured checkpoint is on disk.
const durable = 2 * time.Second

// Checkpoints returns a page of checkpoints, leaving out those whose files are gone. It implements
// server.Checkpoints.
func (h *History) Checkpoints(ctx context.Context,
	q control.CheckpointQuery) (control.CheckpointList, error) {
	if q.Model == control.Alias {
		q.Model = h.pool.Choice()
	}
	page, err := h.db.Checkpoints.List(ctx, q)
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Code == storage.Invalid {
		return control.CheckpointList{}, &control.Error{Code: control.CodeInvalid, Param: "before",
			Message: control.Sentence(e.Message), Err: err}
	}
	if err != nil {
		return control.CheckpointList{}, err
	}
	if page.Count == 0 && q.Model != "" { // a removed model may have left checkpoints
		if _, err := h.db.Models.Get(ctx, q.Model); err != nil {
			return control.CheckpointList{}, pool.NotInstalled(err, q.Model)
		}
	}
	list := control.CheckpointList{Next: page.Next, Count: page.Count, Bytes: page.Bytes,
		SavedMS: page.SavedMS}
	for _, c := range page.Checkpoints {
		if _, err := os.Stat(h.CheckpointPath(c.ID)); errors.Is(err, fs.ErrNotExist) {
			continue // the next scan records why
		}
		list.Checkpoints = append(list.Checkpoints, describeCheckpoint(c))
	}
	list.Checkpoints, err = h.withOrigins(ctx, list.Checkpoints)
	return list, err
}

// CheckpointPath returns the file of a checkpoint.
func (h *History) CheckpointPath(id string) string {
	return checkpoint.FilePath(h.home.Path(pool.CheckpointFolder), id)
}

func describeCheckpoint(c storage.Checkpoint) control.Checkpoint {
	return control.Checkpoint{CheckpointFile: c, TextOnly: pool.IsTextOnly(c.Key)}
}

// findCheckpoint returns the row of an id or a name. It waits for a checkpoint that is being
// written. Error: CodeNoCheckpoint.
func (h *History) findCheckpoint(ctx context.Context, name string) (storage.Checkpoint, error) {
	busy, deadline := true, time.Now().Add(durable)
	c, err := h.db.Checkpoints.Get(ctx, name)
	for storage.IsNotFound(err) && busy && ctx.Err() == nil && time.Now().Before(deadline) {
		if busy = h.pool.WritesCheckpoints(); busy {
			time.Sleep(10 * time.Millisecond)
		}
		c, err = h.db.Checkpoints.Get(ctx, name)
	}
	if storage.IsNotFound(err) {
		return c, &control.Error{Code: control.CodeNoCheckpoint, Err: err,
			Message: fmt.Sprintf("There is no checkpoint %q.", name), Advice: control.ToListCheckpoints}
	}
	return c, err
}

// CheckpointText returns a checkpoint with its tokens. It implements api.Texts.
func (h *History) CheckpointText(ctx context.Context,
	name string) (control.Checkpoint, []int32, error) {
	row, err := h.findCheckpoint(ctx, name)
	if err != nil {
		return control.Checkpoint{}, nil, err
	}
	text, err := h.readText(row)
	return describeCheckpoint(row), text, err
}

// readText returns the tokens of a checkpoint. Error: CodeNotKept.
func (h *History) readText(row storage.Checkpoint) ([]int32, error) {
	text, err := checkpoint.ReadTokens(h.CheckpointPath(row.ID))
	if err != nil {
		return nil, &control.Error{Code: control.CodeNotKept,
			Message: fmt.Sprintf("The checkpoint %s cannot be read: %v.", row.ID, err), Err: err}
	}
	return text, nil
}

// ChangeCheckpoint names, pins or unpins a checkpoint. It returns CodeInvalid if the name is taken. It
// implements server.Checkpoints.
func (h *History) ChangeCheckpoint(ctx context.Context, name string,
	change control.CheckpointChange) (control.Checkpoint, error) {
	row, err := h.findCheckpoint(ctx, name)
	if err != nil {
		return control.Checkpoint{}, err
	}
	if change.Name != nil {
		if other, err := h.db.Checkpoints.Get(ctx, *change.Name); err == nil &&
			other.ID == *change.Name && other.ID != row.ID {
			return control.Checkpoint{}, &control.Error{Code: control.CodeInvalid, Param: "name",
				Message: fmt.Sprintf("%q is the id of another checkpoint; choose another name.",
					*change.Name)}
		}
		err := h.db.Checkpoints.SetName(ctx, row.ID, *change.Name)
		if e, ok := errors.AsType[*storage.Error](err); ok && e.Code == storage.Conflict {
			return control.Checkpoint{}, &control.Error{Code: control.CodeInvalid, Param: "name",
				Err: err,
				Message: fmt.Sprintf("Another checkpoint is called %q; choose another name, or take it from that one first.",
					*change.Name)}
		}
		if err != nil {
			return control.Checkpoint{}, err
		}
	}
	if change.Pinned != nil {
		if err := h.db.Checkpoints.SetPinned(ctx, row.ID, *change.Pinned); err != nil {
			return control.Checkpoint{}, err
		}
	}
	row, err = h.findCheckpoint(ctx, row.ID)
	return describeCheckpoint(row), err
}

// DeleteCheckpoint deletes a checkpoint. It implements server.Checkpoints.
func (h *History) DeleteCheckpoint(ctx context.Context,
	d control.CheckpointDeletion) (out control.Deleted, err error) {
	row, err := h.findCheckpoint(ctx, d.Checkpoint)
	if err != nil {
		return out, err
	}
	err = h.pool.Forget(ctx, func() error {
		ctx := context.WithoutCancel(ctx) // the deletion continues if the client leaves
		gone, err := h.deletion(ctx, row, d.All)
		if err != nil {
			return err
		}
		out = gone
		if err := deleteCheckpointFiles(h.home, out.Checkpoints); err != nil {
			return err
		}
		return h.db.Checkpoints.MarkGone(ctx, out.Checkpoints, "was deleted, as you asked")
	})
	return out, err
}

// deleteCheckpointFiles deletes the files of checkpoints. After an error some may be deleted already.
func deleteCheckpointFiles(dir *home.Home, ids []string) error {
	return folderError(checkpoint.Delete(dir.Path(pool.CheckpointFolder), ids))
}

// folderError wraps an error of the checkpoint folder as CodeFolder.
func folderError(err error) error {
	if err == nil {
		return nil
	}
	return &control.Error{Code: control.CodeFolder, Err: err,
		Message: fmt.Sprintf("The folder of checkpoints cannot be used: %v. Make it yours to read and to write, and try again.", err)}
}

// VerifyCheckpoint reads a checkpoint's file and says what is wrong with it. It implements
// server.Checkpoints.
func (h *History) VerifyCheckpoint(ctx context.Context, name string) (control.Integrity, error) {
	row, err := h.findCheckpoint(ctx, name)
	if err != nil {
		return control.Integrity{}, err
	}
	out := control.Integrity{ID: row.ID}
	if err := checkpoint.Verify(h.CheckpointPath(row.ID)); err != nil {
		out.Error = err.Error()
	}
	return out, nil
}

// Forget deletes the runs, texts and checkpoints of a scope, and what is remembered of their texts.
// It implements server.Checkpoints.
func (h *History) Forget(ctx context.Context,
	r control.ForgetRequest) (out control.Forgotten, err error) {
	err = h.pool.Forget(ctx, func() error {
		ctx := context.WithoutCancel(ctx)
		strays, err := h.strays(ctx) // on a full disk nothing can be read while the rows are deleted
		if err != nil {
			return err
		}
		gone, err := h.db.Forget(ctx, storage.Scope(r), func(ids []string) error {
			if err := deleteCheckpointFiles(h.home, append(strays, ids...)); err != nil {
				return err
			}
			out.Tokens, out.Bytes, err = h.pool.Texts.Forget(r)
			return folderError(err)
		})
		out.Runs, out.Checkpoints, out.InFlight = gone.Runs, len(gone.Checkpoints), gone.InFlight
		out.Bytes += gone.Bytes
		return readOnlyError(err)
	})
	return out, err
}

// ForgetTexts deletes what is remembered of the client with a key, or of all clients without one for
// 0: its texts and its thoughts. It implements server.Checkpoints.
func (h *History) ForgetTexts(ctx context.Context, key int64) (control.Forgotten, error) {
	h.thoughts.note()
	if err := h.db.Responses.DropThoughtsOf(context.WithoutCancel(ctx), key); err != nil {
		return control.Forgotten{}, readOnlyError(err)
	}
	tokens, bytes, err := h.pool.Texts.ForgetKey(key)
	return control.Forgotten{Tokens: tokens, Bytes: bytes}, folderError(err)
}

// readOnlyError wraps the error of a database that cannot be written as CodeFolder, and returns any other
// error as it is.
func readOnlyError(err error) error {
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Code == storage.ReadOnly {
		return &control.Error{Code: control.CodeFolder, Err: err,
			Message: control.Sentence(e.Message)}
	}
	return err
}

// WouldForget returns what Forget would delete. It implements server.Checkpoints.
func (h *History) WouldForget(ctx context.Context,
	r control.ForgetRequest) (control.Forgotten, error) {
	gone, checkpoints, err := h.db.WouldForget(ctx, storage.Scope(r))
	if err != nil {
		return control.Forgotten{}, err
	}
	tokens, bytes, err := h.pool.Texts.WouldForget(r)
	return control.Forgotten{Runs: gone.Runs, Checkpoints: checkpoints, Tokens: tokens,
		Bytes: gone.Bytes + bytes, InFlight: gone.InFlight}, folderError(err)
}

// strays returns the files that have no row in the database, so nobody knows whose they are. It deletes
// partly written files.
func (h *History) strays(ctx context.Context) (ids []string, err error) {
	files, parts, err := checkpoint.List(h.home.Path(pool.CheckpointFolder))
	if err != nil {
		return nil, folderError(err)
	}
	for _, path := range parts {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, folderError(err)
		}
	}
	for _, id := range files {
		c, err := h.db.Checkpoints.Get(ctx, id)
		if storage.IsNotFound(err) || err == nil && c.ID != id {
			ids = append(ids, id)
		} else if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// SetRunText stores the text of a run as the settings allow, and drops it otherwise. It implements
// api.Texts.
func (h *History) SetRunText(ctx context.Context, t control.RunText) error {
	if h.opts.NoCheckpoints {
		return nil
	}
	ended := t.Request == nil && h.settings.Current().KeepRequests == control.KeepNone
	if t.Request == nil && t.Tail == nil || ended {
		return h.db.Runs.DropText(ctx, t.Run)
	}
	return h.db.Runs.SetText(ctx, t)
}

// RunText returns the text of a run. Error: CodeNotKept. It implements api.Texts.
func (h *History) RunText(ctx context.Context, run int64) (control.RunText, error) {
	t, err := h.db.Runs.Text(ctx, run)
	if storage.IsNotFound(err) {
		return control.RunText{}, &control.Error{Code: control.CodeNotKept, Err: err,
			Message: fmt.Sprintf("The text of run %d was not kept; runs keep it while checkpoints are on, for as long as the settings say under Keep requests.", run)}
	}
	return t, err
}

// RunCheckpoint returns the tokens of the checkpoint that a run left. Error: CodeNotKept. It
// implements api.Texts.
func (h *History) RunCheckpoint(ctx context.Context, run int64) ([]int32, error) {
	c, err := h.db.Checkpoints.OfRun(ctx, run)
	if storage.IsNotFound(err) {
		return nil, &control.Error{Code: control.CodeNotKept,
			Message: fmt.Sprintf("Run %d left no checkpoint.", run), Err: err}
	}
	if err != nil {
		return nil, err
	}
	return h.readText(c)
}
