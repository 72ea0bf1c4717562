package server

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"tandem/app/control"
	"tandem/app/wire"
)

// Checkpoints are the states of texts on disk. A checkpoint is found by its id or its name. The
// error is CodeNoCheckpoint if there is none.
type Checkpoints interface {
	// Checkpoints lists a page of the checkpoints of a model, or of all, the last used first. The
	// error is CodeInvalid for an invalid cursor.
	Checkpoints(ctx context.Context, q control.CheckpointQuery) (control.CheckpointList, error)
	// CheckpointTitles returns what the texts are about, where they can be read.
	CheckpointTitles(ctx context.Context, ids []string) ([]control.CheckpointTitle, error)
	// Checkpoint returns a checkpoint with the end of its Text, or with all of it. The Text needs
	// the model's tokenizer.
	Checkpoint(context.Context, control.CheckpointRead) (control.Checkpoint, error)
	// ChangeCheckpoint names or pins a checkpoint.
	ChangeCheckpoint(ctx context.Context, name string,
		change control.CheckpointChange) (control.Checkpoint, error)
	// DeleteCheckpoint deletes a checkpoint. With All it also deletes the checkpoints that continue
	// it. The error is CodeInvalid if there are such checkpoints without All, or if a checkpoint to
	// delete is pinned.
	DeleteCheckpoint(context.Context, control.CheckpointDeletion) (control.Deleted, error)
	// WouldDelete returns what DeleteCheckpoint would delete, or its error.
	WouldDelete(context.Context, control.CheckpointDeletion) (control.Deleted, error)
	// VerifyCheckpoint reads the whole file of a checkpoint.
	VerifyCheckpoint(ctx context.Context, name string) (control.Integrity, error)
	// Forget deletes state and history. Runs in flight continue, and leave nothing.
	Forget(ctx context.Context, q control.ForgetRequest) (control.Forgotten, error)
	// WouldForget returns what Forget would delete.
	WouldForget(ctx context.Context, q control.ForgetRequest) (control.Forgotten, error)
	// ForgetTexts deletes what is remembered of the client with a key, or of all clients without
	// one for 0.
	ForgetTexts(ctx context.Context, key int64) (control.Forgotten, error)
}

// checkpointRoutes answer for Checkpoints.
type checkpointRoutes struct{ Checkpoints }

func addCheckpoints(to *controlRoutes, of Checkpoints) {
	c := checkpointRoutes{of}
	handle(to, control.ListCheckpoints, of.Checkpoints)
	handle(to, control.ListCheckpointTitles, c.titles)
	handle(to, control.GetCheckpoint, of.Checkpoint)
	handle(to, control.ChangeCheckpoint, c.change)
	handle(to, control.DeleteCheckpoint, of.DeleteCheckpoint)
	handle(to, control.WouldDeleteCheckpoint, of.WouldDelete)
	handle(to, control.VerifyCheckpoint, of.VerifyCheckpoint)
	handle(to, control.Forget, c.forget)
	handle(to, control.WouldForget, c.wouldForget)
	handle(to, control.ForgetTexts, of.ForgetTexts)
}

func (c checkpointRoutes) titles(ctx context.Context,
	ids []string) (control.CheckpointTitles, error) {
	list, err := c.CheckpointTitles(ctx, ids)
	return control.CheckpointTitles{Titles: list}, err
}

// maxCheckpointName bounds a name, in bytes.
const maxCheckpointName = 64

// checkpointName matches names that fit into a path and a command line.
var checkpointName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._-]{0,%d}$`,
	maxCheckpointName-1))

func (c checkpointRoutes) change(ctx context.Context,
	u control.CheckpointUpdate) (control.Checkpoint, error) {
	if u.Name != nil && *u.Name != "" && !checkpointName.MatchString(*u.Name) {
		return control.Checkpoint{}, wire.Invalid("name",
			"%s may have letters, digits, dots, dashes and underscores, at most %d, and begins with "+
				"a letter or a digit.", "name", maxCheckpointName)
	}
	return c.ChangeCheckpoint(ctx, u.Checkpoint, u.CheckpointChange)
}

func (c checkpointRoutes) forget(ctx context.Context,
	q control.ForgetRequest) (control.Forgotten, error) {
	if err := checkForget(q); err != nil {
		return control.Forgotten{}, err
	}
	return c.Checkpoints.Forget(ctx, q)
}

func (c checkpointRoutes) wouldForget(ctx context.Context,
	q control.ForgetRequest) (control.Forgotten, error) {
	if err := checkForget(q); err != nil {
		return control.Forgotten{}, err
	}
	return c.WouldForget(ctx, q)
}

// checkForget refuses a request that names nothing, and a day that is no date.
func checkForget(q control.ForgetRequest) error {
	if q == (control.ForgetRequest{}) {
		return wire.Invalid("model", "The field model is missing: name a model, a client or a day.")
	}
	if _, err := time.Parse(time.DateOnly, q.Day); q.Day != "" && err != nil {
		return wire.Invalid("day",
			"The field day must be a day such as 2026-11-22, not %q.", wire.Clip(q.Day))
	}
	return nil
}
