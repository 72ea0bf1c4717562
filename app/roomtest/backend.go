package roomtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/modeltest"
	"tandem/engine"
)

// A Backend serves one scripted model, whose tokens are bytes, and keeps runs in memory.
type Backend struct {
	To api.Services // what the routes call: the backend itself, unless a test replaces a field

	benches
	chats
	connections
	keptResponses

	Mu       sync.Mutex
	Rows     []control.Run
	Dropped  []int64 // ids of removed rows
	Phase    control.Phase
	Model    modeltest.Fake
	Held     int // models acquired and not released
	Revealed []string
	Unloaded []string // the ids that Unload got
	Texts    map[int64]control.RunText
	Asked    map[int64]json.RawMessage // the request of an interrupted run
	Left     []int32                   // tokens on disk, whichever run left them

	Query     control.RunQuery // of the last list
	OnDisk    control.Checkpoint
	Listed    control.CheckpointQuery // of the last list
	Downloads []control.Download
	Own       control.ModelSettings
	Welcome   bool
	Forgot    control.ForgetRequest // of the last question
	Set       control.Settings
	Keyed     bool
	lines     []control.LogLine
	more      chan struct{} // closed when the next line comes

	OnPull func(ctx context.Context, progress func(control.Progress)) (control.Model, error)
	OnLoad func(context.Context) error // Acquire calls it, if set
}

// NewBackend returns a backend whose model says "héllo wörld" and has a context of 64 tokens.
func NewBackend() *Backend {
	f := &Backend{Phase: control.PhaseReady, Set: control.DefaultSettings()}
	f.Model = modeltest.Fake{Name: "acme/coder", Context: 64, Output: "héllo wörld",
		Finish: engine.FinishStop, Template: modeltest.Template, FillsMiddle: true}
	f.To = api.Services{Pool: f, Runs: f, Texts: f, Models: f, Status: f}
	return f
}

// NewBackendOf returns a backend whose model is of the given kind.
func NewBackendOf(kind string) *Backend {
	f := NewBackend()
	f.Model.Purpose = kind
	return f
}

// Dialect makes a model write like Qwen's models.
const Dialect = "<think> </think> <tool_call>"

// Speaking returns a backend whose model answers with the given text.
func Speaking(text string) *Backend {
	fake := NewBackend()
	fake.Model.Output, fake.Model.Context, fake.Model.TemplateSource = text, 4096, Dialect
	return fake
}

// Lettered returns a backend with a checkpoint of the letters a to z.
func Lettered(kind string) *Backend {
	fake := NewBackend()
	fake.OnDisk = control.Checkpoint{CheckpointRecord: control.CheckpointRecord{
		ID: "abc", Model: fake.Model.Name, Kind: kind, ToToken: 26,
	}}
	return fake
}

// Ended is when a run ended that a test puts into the history.
var Ended = time.Unix(1700000000, 0)

// SetPurpose lets the model do what a route asks for: vectors, ranks or texts.
func (f *Backend) SetPurpose(path string) {
	switch {
	case strings.Contains(path, "embed"):
		f.Model.Purpose = control.KindEmbedding
	case strings.Contains(path, "rerank"):
		f.Model.Purpose = control.KindReranker
	}
}

// Lend makes the backend lend what acquire returns, and returns the backend.
func (f *Backend) Lend(acquire func(context.Context) (model.Model, error)) *Backend {
	f.To.Pool = lender{f.To.Pool, acquire}
	return f
}

// A lender is a Pool that lends a model made by the test.
type lender struct {
	api.Pool
	acquire func(context.Context) (model.Model, error)
}

func (l lender) Acquire(ctx context.Context, _ string) (model.Model, error) {
	return l.acquire(ctx)
}

// Checkpoints lists one checkpoint with the letters a to z as its text.
func (f *Backend) Checkpoints(_ context.Context,
	q control.CheckpointQuery) (control.CheckpointList, error) {
	f.Listed = q
	return control.CheckpointList{Checkpoints: []control.Checkpoint{f.OnDisk}, Next: "2",
		Count: 7, Bytes: 70}, nil
}

func (f *Backend) Checkpoint(
	_ context.Context, name string, whole bool,
) (control.Checkpoint, error) {
	if name != f.OnDisk.ID {
		return control.Checkpoint{}, control.Errorf(control.CodeNoCheckpoint,
			"There is no checkpoint %q.", name)
	}
	c := f.OnDisk
	if c.Text = "xyz"; whole {
		c.Text = "abcdefghijklmnopqrstuvwxyz"
	}
	return c, nil
}

func (f *Backend) ChangeCheckpoint(ctx context.Context, name string,
	change control.CheckpointChange) (control.Checkpoint, error) {
	if change.Name != nil {
		f.OnDisk.Name = *change.Name
	}
	if change.Pinned != nil {
		f.OnDisk.Pinned = *change.Pinned
	}
	return f.Checkpoint(ctx, name, false)
}

func (f *Backend) DeleteCheckpoint(
	ctx context.Context, name string, _ bool,
) (control.Deleted, error) {
	_, err := f.Checkpoint(ctx, name, false)
	return control.Deleted{Checkpoints: []string{name}}, err
}

func (f *Backend) VerifyCheckpoint(
	ctx context.Context, name string,
) (control.Integrity, error) {
	_, err := f.Checkpoint(ctx, name, false)
	return control.Integrity{ID: name}, err
}

func (f *Backend) CheckpointText(ctx context.Context, name string) (c control.Checkpoint,
	ids []int32, err error) {
	for id := 'a'; id <= 'z'; id++ {
		ids = append(ids, id)
	}
	c, err = f.Checkpoint(ctx, name, false)
	return c, ids, err
}

func (f *Backend) Forget(context.Context, control.ForgetRequest) (control.Forgotten, error) {
	return control.Forgotten{Runs: 1}, nil
}

func (f *Backend) SetRunText(_ context.Context, t control.RunText) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Texts == nil {
		f.Texts = map[int64]control.RunText{}
	}
	if f.Asked == nil {
		f.Asked = map[int64]json.RawMessage{}
	}
	f.Texts[t.Run] = t
	if t.Request != nil {
		f.Asked[t.Run] = t.Request
	}
	return nil
}

func (f *Backend) RunText(_ context.Context, run int64) (control.RunText, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	t, ok := f.Texts[run]
	if !ok {
		return t, control.Errorf(control.CodeNotKept, "The text of run %d was not kept.", run)
	}
	return t, nil
}

func (f *Backend) RunCheckpoint(_ context.Context, run int64) ([]int32, error) {
	if f.Left == nil {
		return nil, control.Errorf(control.CodeNotKept, "Run %d left no checkpoint.", run)
	}
	return f.Left, nil
}

func (f *Backend) Models(context.Context) ([]control.Model, error) {
	added := time.Unix(1700000000, 0).UTC()
	return []control.Model{
		{ID: "other", Source: "folder", ContextLength: 4096, AddedAt: added},
		{ID: f.Model.Name, Source: "hub", Kind: f.Model.Purpose, ContextLength: f.Model.Context, AddedAt: added},
	}, nil
}

func (f *Backend) IDOf(_ context.Context, name string) (string, error) {
	if name == "foreign:8b" {
		return f.Model.Name, nil
	}
	return name, nil
}

func (f *Backend) Acquire(ctx context.Context, name string) (model.Model, error) {
	if f.OnLoad != nil {
		if err := f.OnLoad(ctx); err != nil {
			return nil, err
		}
	}
	switch name {
	case control.Alias, f.Model.Name:
		f.Mu.Lock()
		f.Held++
		f.Mu.Unlock()
		return &heldModel{&f.Model, f}, nil
	case "other":
		return nil, control.Errorf(control.CodeModelBusy,
			"acme/coder is answering requests; other can be loaded when it is idle.")
	}
	return nil, control.Errorf(control.CodeModelNotFound,
		"The model %q is not registered. `tandem models list` lists the registered models.", name)
}

func (f *Backend) Abilities(_ context.Context, id string) (model.Abilities, error) {
	if id != f.Model.Name {
		return model.Abilities{}, nil
	}
	var fim *model.FIM
	if texts, ok := f.Model.FIM(); ok {
		fim = &texts
	}
	return model.NewAbilities(f.Model.Dialect(), fim), nil
}

// A heldModel is a model that was acquired and is counted in Held until Release.
type heldModel struct {
	*modeltest.Fake
	f *Backend
}

func (h *heldModel) Release() {
	h.f.Mu.Lock()
	h.f.Held--
	h.f.Mu.Unlock()
	h.Fake.Release()
}

func (f *Backend) BeginRun(_ context.Context, r control.Run) (int64, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	r.ID = int64(len(f.Rows) + 1)
	f.Rows = append(f.Rows, r)
	return r.ID, nil
}

func (f *Backend) FinishRun(ctx context.Context, r control.Run) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !f.Rows[r.ID-1].EndedAt.IsZero() {
		return errors.New("finished twice")
	}
	f.Rows[r.ID-1] = r
	return nil
}

func (f *Backend) DropRun(_ context.Context, id int64) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if !f.Rows[id-1].EndedAt.IsZero() {
		return errors.New("finished, and dropped")
	}
	f.Dropped = append(f.Dropped, id)
	return nil
}

func (f *Backend) Run(_ context.Context, id int64) (control.Run, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if id < 1 || id > int64(len(f.Rows)) {
		return control.Run{}, control.Errorf(control.CodeRunNotFound,
			"There is no run %d in the history.", id)
	}
	return f.Rows[id-1], nil
}

// LastRun waits for the newest row to be finished.
func (f *Backend) LastRun() control.Run {
	for {
		f.Mu.Lock()
		r := f.Rows[len(f.Rows)-1]
		f.Mu.Unlock()
		if !r.EndedAt.IsZero() {
			return r
		}
		time.Sleep(time.Millisecond)
	}
}

func (f *Backend) Download(_ context.Context, r control.PullRequest) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Downloads = append(f.Downloads, control.Download{ID: r.ID})
	return nil
}

func (f *Backend) PauseDownload(_ context.Context, id string) error {
	return control.Errorf(control.CodeModelNotFound, "There is no download of %q.", id)
}

func (f *Backend) DropDownload(ctx context.Context, r control.DropRequest) error {
	return f.PauseDownload(ctx, r.ID)
}

func (f *Backend) SetPhase(p control.Phase) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Phase = p
}

func (f *Backend) State() control.State {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	in := control.Loaded{ID: f.Model.Name, ContextLength: f.Model.Context, Device: "cpu",
		Dtype: "float32"}
	return control.State{Version: "test", PID: 42, Phase: f.Phase, Welcome: f.Welcome,
		Choice: f.Model.Name, Address: "http://127.0.0.1:8263",
		Loaded: &in, InMemory: []control.Loaded{in}, ActiveBytes: 1 << 20, PeakBytes: 2 << 20,
		Models:    []control.Choosable{{ID: f.Model.Name}},
		Downloads: append([]control.Download{}, f.Downloads...)}
}

func (f *Backend) Load(_ context.Context, id string) error {
	m, err := f.Acquire(context.Background(), id)
	if err == nil {
		m.Release()
	}
	return err
}

func (f *Backend) Unload(_ context.Context, id string) error {
	f.Unloaded = append(f.Unloaded, id)
	return nil
}

func (f *Backend) AddModel(_ context.Context, r control.AddRequest) (control.Model, error) {
	if r.Path != "/models/new" {
		return control.Model{}, control.Errorf(control.CodeModelInvalid,
			"%s has no config.json; give the folder of a model.", r.Path)
	}
	return control.Model{ID: "new", Path: r.Path, Source: "folder"}, nil
}

func (f *Backend) Reveal(_ context.Context, id string) error {
	if id != f.Model.Name {
		return control.Errorf(control.CodeModelNotFound, "The model %q is not registered.", id)
	}
	f.Revealed = append(f.Revealed, id)
	return nil
}

func (f *Backend) RemoveModel(_ context.Context, id string) (control.Removal, error) {
	if id != f.Model.Name {
		return control.Removal{}, control.Errorf(control.CodeModelNotFound,
			"The model %q is not registered.", id)
	}
	return control.Removal{ID: id, Deletes: true, Bytes: 1000}, nil
}

func (f *Backend) Drafter(
	_ context.Context, r control.DrafterRequest,
) (control.Drafter, error) {
	return control.Drafter{Model: r.Model, Choice: r.Drafter}, nil
}

func (f *Backend) Pull(ctx context.Context, r control.PullRequest,
	progress func(control.Progress)) (control.Model, error) {
	if f.OnPull != nil {
		return f.OnPull(ctx, progress)
	}
	progress(control.Progress{Done: 5, Total: 10})
	if r.ID == "acme/gated" {
		return control.Model{}, control.Errorf(control.CodeGated, "acme/gated wants a token.")
	}
	return control.Model{ID: r.ID, Source: "hub", Bytes: 10}, nil
}
