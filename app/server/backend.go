package server

import (
	"context"

	"tandem/app/control"
	"tandem/app/model"
)

// A Backend is what the server serves. Package app implements it on the
// engine, the models and the database. Its methods are safe for use by many
// goroutines; their errors are *control.Error or *engine.Error where a caller
// can act on them.
type Backend interface {
	Catalogue
	Recorder
	Keeper
	Admin
	Settings
	Keys
	Help
	Chats
	Connections
	Library
	Disk
	Benches
	Machine
	Responses
}

// A Catalogue knows the models by name.
type Catalogue interface {
	// Models lists the registered models. The alias is not among them.
	Models(ctx context.Context) ([]control.Model, error)

	// Acquire returns the model with that id in memory, loading it if it must:
	// beside others, or in place of idle ones. control.Alias means the choice,
	// which is waited for where others are in its way. Unregistered:
	// CodeModelNotFound. No place beside others: CodeNotLoaded, CodeModelBusy. The
	// caller calls Release once.
	Acquire(ctx context.Context, name string) (model.Model, error)

	// Abilities tells what the model with that id can do, from its files alone: it is not
	// loaded. Unregistered: CodeModelNotFound; no model any more: CodeModelInvalid.
	Abilities(ctx context.Context, id string) (model.Abilities, error)
}

// A Recorder keeps the history. Its errors are logged by the server and never
// fail a request.
type Recorder interface {
	// BeginRun inserts a run at its arrival and returns its id, above 0.
	BeginRun(context.Context, control.Run) (int64, error)
	// FinishRun completes the row with that ID. It is called for every run but those
	// that DropRun is called for.
	FinishRun(context.Context, control.Run) error
	// DropRun removes the row of a run in flight.
	DropRun(ctx context.Context, id int64) error
	// Run returns one run, finished or not, or CodeRunNotFound.
	Run(ctx context.Context, id int64) (control.Run, error)
	// ResumedBy returns the id of the run that completed the answer of one, 0 if none
	// did.
	ResumedBy(ctx context.Context, run int64) (int64, error)
	// Runs lists finished and running runs, newest first, without their
	// Speculation.
	Runs(context.Context, control.RunQuery) ([]control.Run, error)
	// RunValues lists what there is to narrow Runs by.
	RunValues(context.Context) (control.RunValues, error)
	// KeepVerdict keeps how a run's answer compared, in place of what was kept
	// before.
	KeepVerdict(context.Context, control.Replayed) error
}

// A Keeper has what runs left behind: states of texts on disk, and what is
// needed to complete an answer or to compute it again. Where a checkpoint is
// named its id and its name will do; CodeNoCheckpoint where there is none.
type Keeper interface {
	// Checkpoints lists a page of those of a model, or of all, the last used first.
	// CodeInvalid for a cursor that is none.
	Checkpoints(context.Context, control.CheckpointQuery) (control.CheckpointList, error)
	// CheckpointTitles says what texts are about, of those that can be read.
	CheckpointTitles(ctx context.Context, ids []string) ([]control.CheckpointTitle, error)
	// Checkpoint returns one, with the end of its Text, or the whole, if the model
	// is there.
	Checkpoint(ctx context.Context, name string, whole bool) (control.Checkpoint, error)
	// ChangeCheckpoint names or pins one.
	ChangeCheckpoint(ctx context.Context, name string, change control.CheckpointChange) (control.Checkpoint, error)
	// DeleteCheckpoint deletes one. Others that go on from it go with it if all
	// says so, and are CodeInvalid otherwise, or where one of them is pinned.
	DeleteCheckpoint(ctx context.Context, name string, all bool) (control.Deleted, error)
	// VerifyCheckpoint reads the file of one whole.
	VerifyCheckpoint(ctx context.Context, name string) (control.Integrity, error)
	// CheckpointText returns one, without its Text, and its tokens from the text's
	// beginning on.
	CheckpointText(ctx context.Context, name string) (control.Checkpoint, []int32, error)
	// Forget deletes state and history. Runs in flight go on, and what they leave is
	// not taken any more.
	Forget(context.Context, control.ForgetRequest) (control.Forgotten, error)

	// SetRunText keeps what is needed of a run, in place of what was kept
	// before; nothing where there is neither a request nor a tail. Where nothing is
	// to be kept, and of a run that was forgotten in flight, it does nothing.
	SetRunText(context.Context, control.RunText) error
	// RunText returns it, or CodeNotKept.
	RunText(ctx context.Context, run int64) (control.RunText, error)
	// RunCheckpoint returns the longest text that a run left on disk, or
	// CodeNotKept.
	RunCheckpoint(ctx context.Context, run int64) ([]int32, error)
}

// Admin is what the control routes ask for.
type Admin interface {
	// State reports everything but Active, which the server knows.
	State() control.State
	// Load makes a registered model the choice and loads it, in place of the one
	// before it.
	Load(ctx context.Context, id string) error
	// Unload frees a model in memory, or all of them if the id is empty, unless one
	// is in use: CodeModelBusy. None is no error.
	Unload(ctx context.Context, id string) error
	// AddModel registers a folder.
	AddModel(context.Context, control.AddRequest) (control.Model, error)
	// RemoveModel takes a model off the list; it deletes only files that
	// Tandem downloaded.
	RemoveModel(ctx context.Context, id string) (control.Removal, error)
	// Drafter sets what drafts for a model, unless the request leaves that
	// empty, and says what does.
	Drafter(context.Context, control.DrafterRequest) (control.Drafter, error)
	// Pull downloads a model and registers it. progress is called on the
	// caller's goroutine. Cancelling ctx leaves what was fetched for a resume.
	Pull(ctx context.Context, r control.PullRequest, progress func(control.Progress)) (control.Model, error)
	// Download is Pull in the background: it begins, or goes on. The state tells
	// how far it has come.
	Download(context.Context, control.PullRequest) error
	// PauseDownload stops one, which stays in the state.
	PauseDownload(ctx context.Context, id string) error
	// DropDownload stops one and takes it out of the state.
	DropDownload(context.Context, control.DropRequest) error
}
