package server

import (
	"context"

	"tandem/app/api"
	"tandem/app/control"
)

// Runs keep the history. The server logs their errors, which never fail a request.
type Runs interface {
	api.Runs
	// ResumedBy returns the id of the run that completed this run's answer, or 0.
	ResumedBy(ctx context.Context, run int64) (int64, error)
	// Runs lists finished and running runs, newest first, without their Speculation.
	Runs(ctx context.Context, q control.RunQuery) ([]control.Run, error)
	// RunValues lists the values by which Runs can be narrowed.
	RunValues(ctx context.Context) (control.RunValues, error)
	// Parting returns the words around the place where the prompt of a run parts from an earlier
	// text, nil if it does not part.
	Parting(ctx context.Context, r control.Run) *control.Parting
	// Activity tells how many tokens were read and written in so many minutes up to now. active are
	// the runs that were in flight just before.
	Activity(ctx context.Context, minutes int, active []control.Active) (control.Activity, error)
	// Insights tells what the requests of today took, and why some were slow.
	Insights(ctx context.Context) (control.Insights, error)
}

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
	Checkpoint(ctx context.Context, name string, whole bool) (control.Checkpoint, error)
	// ChangeCheckpoint names or pins a checkpoint.
	ChangeCheckpoint(ctx context.Context, name string,
		change control.CheckpointChange) (control.Checkpoint, error)
	// DeleteCheckpoint deletes a checkpoint. If all is true, it also deletes the checkpoints that
	// continue it. The error is CodeInvalid if all is false and there are such checkpoints, or if a
	// checkpoint to delete is pinned.
	DeleteCheckpoint(ctx context.Context, name string, all bool) (control.Deleted, error)
	// WouldDelete returns what DeleteCheckpoint would delete, or its error.
	WouldDelete(ctx context.Context, name string, all bool) (control.Deleted, error)
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

// Status reports the state of the program.
type Status interface {
	api.Status
	// Welcomed records whether the user has finished the first steps.
	Welcomed(ctx context.Context, done bool) error
}

// Residents are the models in memory, with their settings.
type Residents interface {
	// Load makes a registered model the choice and loads it in place of the one before.
	Load(ctx context.Context, id string) error
	// Unload frees a model in memory, or all of them if the id is empty. The error is CodeModelBusy
	// for a model in use. There is no error if no model is in memory.
	Unload(ctx context.Context, id string) error
	// Drafter sets what drafts for a model, unless the request leaves that empty. It returns what
	// drafts.
	Drafter(ctx context.Context, r control.DrafterRequest) (control.Drafter, error)
	// Memory returns how much memory the registered models need on this machine.
	Memory(ctx context.Context) (control.Memory, error)
	// ModelSettings returns the settings of a registered model.
	ModelSettings(ctx context.Context, id string) (control.ModelSettingsState, error)
	// SetModelSettings replaces the settings of a registered model.
	SetModelSettings(ctx context.Context,
		set control.ModelSettings) (control.ModelSettingsState, error)
}
