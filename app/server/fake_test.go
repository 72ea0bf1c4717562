package server

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

// A fakeBackend serves one scripted model, whose tokens are bytes, and keeps runs in memory.
type fakeBackend struct {
	fakeBenches
	fakeChats
	fakeConnections
	fakeResponses

	mu       sync.Mutex
	runs     []control.Run
	dropped  []int64 // ids of removed rows
	phase    control.Phase
	model    modeltest.Fake
	held     int // models acquired and not released
	unload   int
	revealed []string
	unloaded []string // the ids that Unload got
	texts    map[int64]control.RunText
	asked    map[int64]json.RawMessage // the request of an interrupted run
	left     []int32                   // tokens on disk, whichever run left them

	query      control.RunQuery // of the last list
	checkpoint control.Checkpoint
	listed     control.CheckpointQuery // of the last list
	downloads  []control.Download
	own        control.ModelSettings
	welcome    bool
	forgot     control.ForgetRequest // of the last question
	set        control.Settings
	keyed      bool
	lines      []control.LogLine
	more       chan struct{} // closed when the next line comes

	pulls func(ctx context.Context, progress func(control.Progress)) (control.Model, error)
	loads func(context.Context) error // Acquire calls it, if set
}

func newFake() *fakeBackend {
	f := &fakeBackend{phase: control.PhaseReady, set: control.DefaultSettings()}
	f.model = modeltest.Fake{Name: "acme/coder", Context: 64, Output: "héllo wörld",
		Finish: engine.FinishStop, Template: modeltest.Template, FillsMiddle: true}
	return f
}

// serve lets the model do what a route asks for: vectors, ranks or texts.
func (f *fakeBackend) serve(path string) {
	switch {
	case strings.Contains(path, "embed"):
		f.model.Purpose = control.KindEmbedding
	case strings.Contains(path, "rerank"):
		f.model.Purpose = control.KindReranker
	}
}

// services fills every field with the fake. A test that fakes one service differently replaces that
// field.
func (f *fakeBackend) services() Services {
	return Services{
		Pool: f, Runs: f, Texts: f, Responses: f,
		Status: f, Residents: f, Library: f, Checkpoints: f, Chats: f, Settings: f, Keys: f,
		Connections: f, Benches: f, Machine: f, Help: f,
	}
}

// lending returns the fake's services with another Acquire.
func (f *fakeBackend) lending(acquire func(context.Context) (model.Model, error)) Services {
	to := f.services()
	to.Pool = lender{f, acquire}
	return to
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
func (f *fakeBackend) Checkpoints(_ context.Context,
	q control.CheckpointQuery) (control.CheckpointList, error) {
	f.listed = q
	return control.CheckpointList{Checkpoints: []control.Checkpoint{f.checkpoint}, Next: "2",
		Count: 7, Bytes: 70}, nil
}

func (f *fakeBackend) Checkpoint(
	_ context.Context, name string, whole bool,
) (control.Checkpoint, error) {
	if name != f.checkpoint.ID {
		return control.Checkpoint{}, control.Errorf(control.CodeNoCheckpoint,
			"There is no checkpoint %q.", name)
	}
	c := f.checkpoint
	if c.Text = "xyz"; whole {
		c.Text = "abcdefghijklmnopqrstuvwxyz"
	}
	return c, nil
}

func (f *fakeBackend) ChangeCheckpoint(ctx context.Context, name string,
	change control.CheckpointChange) (control.Checkpoint, error) {
	if change.Name != nil {
		f.checkpoint.Name = *change.Name
	}
	if change.Pinned != nil {
		f.checkpoint.Pinned = *change.Pinned
	}
	return f.Checkpoint(ctx, name, false)
}

func (f *fakeBackend) DeleteCheckpoint(
	ctx context.Context, name string, _ bool,
) (control.Deleted, error) {
	_, err := f.Checkpoint(ctx, name, false)
	return control.Deleted{Checkpoints: []string{name}}, err
}

func (f *fakeBackend) VerifyCheckpoint(
	ctx context.Context, name string,
) (control.Integrity, error) {
	_, err := f.Checkpoint(ctx, name, false)
	return control.Integrity{ID: name}, err
}

func (f *fakeBackend) CheckpointText(ctx context.Context, name string) (c control.Checkpoint,
	ids []int32, err error) {
	for id := 'a'; id <= 'z'; id++ {
		ids = append(ids, id)
	}
	c, err = f.Checkpoint(ctx, name, false)
	return c, ids, err
}

func (f *fakeBackend) Forget(context.Context, control.ForgetRequest) (control.Forgotten, error) {
	return control.Forgotten{Runs: 1}, nil
}

func (f *fakeBackend) SetRunText(_ context.Context, t control.RunText) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.texts == nil {
		f.texts = map[int64]control.RunText{}
	}
	if f.asked == nil {
		f.asked = map[int64]json.RawMessage{}
	}
	f.texts[t.Run] = t
	if t.Request != nil {
		f.asked[t.Run] = t.Request
	}
	return nil
}

func (f *fakeBackend) RunText(_ context.Context, run int64) (control.RunText, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.texts[run]
	if !ok {
		return t, control.Errorf(control.CodeNotKept, "The text of run %d was not kept.", run)
	}
	return t, nil
}

func (f *fakeBackend) RunCheckpoint(_ context.Context, run int64) ([]int32, error) {
	if f.left == nil {
		return nil, control.Errorf(control.CodeNotKept, "Run %d left no checkpoint.", run)
	}
	return f.left, nil
}

func (f *fakeBackend) Models(context.Context) ([]control.Model, error) {
	added := time.Unix(1700000000, 0).UTC()
	return []control.Model{
		{ID: "other", Source: "folder", ContextLength: 4096, AddedAt: added},
		{ID: f.model.Name, Source: "hub", Kind: f.model.Purpose, ContextLength: f.model.Context, AddedAt: added},
	}, nil
}

func (f *fakeBackend) IDOf(_ context.Context, name string) (string, error) {
	if name == "foreign:8b" {
		return f.model.Name, nil
	}
	return name, nil
}

func (f *fakeBackend) Acquire(ctx context.Context, name string) (model.Model, error) {
	if f.loads != nil {
		if err := f.loads(ctx); err != nil {
			return nil, err
		}
	}
	switch name {
	case control.Alias, f.model.Name:
		f.mu.Lock()
		f.held++
		f.mu.Unlock()
		return &heldModel{&f.model, f}, nil
	case "other":
		return nil, control.Errorf(control.CodeModelBusy,
			"acme/coder is answering requests; other can be loaded when it is idle.")
	}
	return nil, control.Errorf(control.CodeModelNotFound,
		"The model %q is not registered. `tandem models list` lists the registered models.", name)
}

func (f *fakeBackend) Abilities(_ context.Context, id string) (model.Abilities, error) {
	if id != f.model.Name {
		return model.Abilities{}, nil
	}
	var fim *model.FIM
	if texts, ok := f.model.FIM(); ok {
		fim = &texts
	}
	return model.NewAbilities(f.model.Dialect(), fim), nil
}

type heldModel struct {
	*modeltest.Fake
	f *fakeBackend
}

func (h *heldModel) Release() {
	h.f.mu.Lock()
	h.f.held--
	h.f.mu.Unlock()
	h.Fake.Release()
}

func (f *fakeBackend) BeginRun(_ context.Context, r control.Run) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.ID = int64(len(f.runs) + 1)
	f.runs = append(f.runs, r)
	return r.ID, nil
}

func (f *fakeBackend) FinishRun(ctx context.Context, r control.Run) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !f.runs[r.ID-1].EndedAt.IsZero() {
		return errors.New("finished twice")
	}
	f.runs[r.ID-1] = r
	return nil
}

func (f *fakeBackend) DropRun(_ context.Context, id int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.runs[id-1].EndedAt.IsZero() {
		return errors.New("finished, and dropped")
	}
	f.dropped = append(f.dropped, id)
	return nil
}

func (f *fakeBackend) Run(_ context.Context, id int64) (control.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id < 1 || id > int64(len(f.runs)) {
		return control.Run{}, control.Errorf(control.CodeRunNotFound,
			"There is no run %d in the history.", id)
	}
	return f.runs[id-1], nil
}

// lastRun waits for the newest row to be finished.
func (f *fakeBackend) lastRun() control.Run {
	for {
		f.mu.Lock()
		r := f.runs[len(f.runs)-1]
		f.mu.Unlock()
		if !r.EndedAt.IsZero() {
			return r
		}
		time.Sleep(time.Millisecond)
	}
}

func (f *fakeBackend) Download(_ context.Context, r control.PullRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.downloads = append(f.downloads, control.Download{ID: r.ID})
	return nil
}

func (f *fakeBackend) PauseDownload(_ context.Context, id string) error {
	return control.Errorf(control.CodeModelNotFound, "There is no download of %q.", id)
}

func (f *fakeBackend) DropDownload(ctx context.Context, r control.DropRequest) error {
	return f.PauseDownload(ctx, r.ID)
}

func (f *fakeBackend) setPhase(p control.Phase) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.phase = p
}

func (f *fakeBackend) State() control.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := control.Loaded{ID: f.model.Name, ContextLength: f.model.Context, Device: "cpu",
		Dtype: "float32"}
	return control.State{Version: "test", PID: 42, Phase: f.phase, Welcome: f.welcome,
		Choice: f.model.Name, Address: "http://127.0.0.1:8263",
		Loaded: &in, InMemory: []control.Loaded{in}, ActiveBytes: 1 << 20, PeakBytes: 2 << 20,
		Models:    []control.Choosable{{ID: f.model.Name}},
		Downloads: append([]control.Download{}, f.downloads...)}
}

func (f *fakeBackend) Load(_ context.Context, id string) error {
	m, err := f.Acquire(context.Background(), id)
	if err == nil {
		m.Release()
	}
	return err
}

func (f *fakeBackend) Unload(_ context.Context, id string) error {
	f.unload++
	f.unloaded = append(f.unloaded, id)
	return nil
}

func (f *fakeBackend) AddModel(_ context.Context, r control.AddRequest) (control.Model, error) {
	if r.Path != "/models/new" {
		return control.Model{}, control.Errorf(control.CodeModelInvalid,
			"%s has no config.json; give the folder of a model.", r.Path)
	}
	return control.Model{ID: "new", Path: r.Path, Source: "folder"}, nil
}

func (f *fakeBackend) Reveal(_ context.Context, id string) error {
	if id != f.model.Name {
		return control.Errorf(control.CodeModelNotFound, "The model %q is not registered.", id)
	}
	f.revealed = append(f.revealed, id)
	return nil
}

func (f *fakeBackend) RemoveModel(_ context.Context, id string) (control.Removal, error) {
	if id != f.model.Name {
		return control.Removal{}, control.Errorf(control.CodeModelNotFound,
			"The model %q is not registered.", id)
	}
	return control.Removal{ID: id, Deletes: true, Bytes: 1000}, nil
}

func (f *fakeBackend) Drafter(
	_ context.Context, r control.DrafterRequest,
) (control.Drafter, error) {
	return control.Drafter{Model: r.Model, Choice: r.Drafter}, nil
}

func (f *fakeBackend) Pull(ctx context.Context, r control.PullRequest,
	progress func(control.Progress)) (control.Model, error) {
	if f.pulls != nil {
		return f.pulls(ctx, progress)
	}
	progress(control.Progress{Done: 5, Total: 10})
	if r.ID == "acme/gated" {
		return control.Model{}, control.Errorf(control.CodeGated, "acme/gated wants a token.")
	}
	return control.Model{ID: r.ID, Source: "hub", Bytes: 10}, nil
}
