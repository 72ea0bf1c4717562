package roomtest

import (
	"context"
	"encoding/json"
	"log/slog"
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
	To     api.Services // what the routes call: the backend itself, unless a test replaces a field
	Logger *slog.Logger // of Serve; nil discards

	benches
	chats
	checkpoints
	connections
	keptResponses
	keys

	Mu       sync.Mutex
	finished sync.Cond // told of each row that is finished
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
	Downloads []control.Download
	Own       control.ModelSettings
	Welcome   bool
	Forgot    control.ForgetRequest // of the last question
	Set       control.Settings
	lines     []control.LogLine
	more      chan struct{} // closed when the next line comes

	Library []control.Model // the registered models; nil = two

	// Called if set.
	OnPull   func(ctx context.Context, progress func(control.Progress)) (control.Model, error)
	OnLoad   func(context.Context) error // by Acquire
	OnState  func(*control.State)        // by State, to change what it returns
	OnUnload func() error
}

// NewBackend returns a backend whose model says "héllo wörld" and has a context of 64 tokens.
func NewBackend() *Backend {
	f := &Backend{Phase: control.PhaseReady, Set: control.DefaultSettings()}
	f.finished.L = &f.Mu
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

// Detailed returns a backend whose library has details of three models.
func Detailed() *Backend {
	f := NewBackend()
	added := Ended.UTC()
	f.Library = []control.Model{
		{ID: "other", Architecture: "llama", Dtype: "bfloat16", Parameters: 7_615_616_512, Bytes: 15 << 30, ContextLength: 4096, AddedAt: added},
		{ID: "vectors", Architecture: "qwen3", Kind: control.KindEmbedding, Dtype: "float32", Parameters: 600_000, Bytes: 3 << 20, ContextLength: 4096, AddedAt: added},
		{ID: f.Model.Name, Architecture: "qwen3", Quantization: "4-bit", Dtype: "bfloat16", Parameters: 18_400_000, Bytes: 10 << 20, ContextLength: 9999, Revision: "abc", AddedAt: added},
	}
	return f
}

// Lettered returns a backend with a checkpoint of the letters a to z.
func Lettered(kind string) *Backend {
	fake := NewBackend()
	fake.OnDisk = control.Checkpoint{CheckpointFile: control.CheckpointFile{
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
