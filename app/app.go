package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tandem/app/connect"
	"tandem/app/control"
	"tandem/app/endpoint"
	"tandem/app/home"
	"tandem/app/server"
	"tandem/app/settings"
	"tandem/app/wire"
	"tandem/engine"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/models/hub"
	"tandem/storage"
)

// Options of an App.
type Options struct {
	Home    string       // folder, see OpenHome
	Version string       // of the program
	Logger  *slog.Logger // nil discards

	// Model is a folder to register or the id of a registered model, which
	// becomes the choice, and is kept as such once it has been loaded. Empty
	// takes the last choice.
	Model string

	ContextLength int    // positions; zero = the model's, or as many as there is memory for
	Dtype         string // auto, float32 or checkpoint; empty = auto
	Memory        int64  // of the machine, in bytes; 0 asks the system

	// Speculation is the drafter of requests that do not name one: auto or
	// none; empty = auto.
	Speculation string

	// NoCheckpoints evaluates every prompt whole. Otherwise what requests
	// computed is kept for those that begin alike, in memory and in the home
	// folder.
	NoCheckpoints bool

	// Drafter is what guesses for the model above, or the choice, while this
	// App runs: control.DrafterAuto, control.DrafterNone, a folder, or the name
	// of one in the hub's cache. Empty means what was set for that model.
	Drafter string

	// Hub says where models are downloaded from and to, where no setting does.
	Hub hub.Options

	// Settings are those of whom nobody has set anything. Given names those of
	// them, and of Hub, that a flag or the environment decides, whatever is set.
	// The zero value is control.DefaultSettings.
	Settings control.Settings
	Given    map[string]control.Given

	// What the command line tool is linked by: the folder of the user, the path of
	// this program, and PATH.
	UserHome, Program, Path string

	// UpdateFeed is the address that tells of newer versions, empty for none.
	UpdateFeed string

	// ModelFolders are where models are looked for beside the hub's cache and the
	// folders that are set.
	ModelFolders []ModelFolder

	// Script says what is answered, in a program that tests clients.
	Script Script
}

// settingChoice names the setting that holds the id behind control.Alias.
const settingChoice = "model"

// An App is one running Tandem.
type App struct {
	opts    Options
	log     *slog.Logger
	home    *home.Home
	db      *storage.DB
	thread  *mlx.Thread
	engines engine.Neighbours // of all models in memory
	files   checkpoint.Folder // of checkpoints, likewise
	started time.Time

	// life ends, by end, when Serve drains or Close begins; a load ends with
	// it, not with the request that began it.
	life context.Context
	end  context.CancelFunc

	mu         sync.Mutex
	choice     string    // model id
	drafterFor string    // model id that Options.Drafter counts for; empty = none any more
	resident   []*loaded // the models in memory
	coming     *coming   // the model being loaded; nil if none
	changing   *changing // nil if no change of what is in memory is in progress
	starting   bool      // Serve has yet to load the choice
	draining   bool
	welcome    bool           // the first steps are to be shown
	leaving    bool           // Serve takes no more work but has not begun to drain
	failure    string         // why the choice could not be loaded
	server     *server.Server // while Serve runs, and after

	patience time.Duration // of a load with texts that are in its way, see lull

	endBench      context.CancelCauseFunc // of the bench that runs; nil if none does
	benchProgress *control.BenchProgress  // what it said last; nil before that
	benchFailure  string                  // why the last one found out nothing, unless a person ended it
	benchPlan     shortPlan

	endpoint  *endpoint.Endpoint
	connect   *connect.Connections
	settings  *settings.Store
	keys      *settings.Keys
	downloads downloads
	sizes     sizes
	updates   updates
	tokenizer lastTokenizer
	titles    titles
	abilities knownAbilities
	lines     *logRing // of the log
}

// Open takes the home folder and brings everything up except listeners and
// the model. Error: *LockedError if another process serves the folder.
func Open(ctx context.Context, o Options) (_ *App, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ring := newLogRing()
	o.Logger = slog.New(slog.NewMultiHandler(o.Logger.Handler(), ringHandler{ring: ring}))
	a := &App{opts: o, log: o.Logger, started: time.Now(), patience: lullMost, lines: ring, benchPlan: twoMinutes}
	a.life, a.end = context.WithCancel(context.Background())
	a.endpoint = endpoint.New(endpoint.Options{
		Logger: a.log, Server: wire.HTTP, Refuse: wire.Refuse,
		Announce: func(address string) error { return a.home.Announce(address) },
	})
	// Undone in reverse if a later step fails.
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if !slices.Contains([]string{"", "auto", "float32", "checkpoint"}, o.Dtype) {
		return nil, fmt.Errorf("dtype %q: use auto, float32 or checkpoint", o.Dtype)
	}
	if !slices.Contains([]string{"", engine.Auto, engine.None}, o.Speculation) {
		return nil, fmt.Errorf("speculation %q: use %s or %s", o.Speculation, engine.Auto, engine.None)
	}
	if a.home, err = home.Open(o.Home); err != nil {
		return nil, err
	}
	if err := a.home.Sweep(); err != nil {
		a.log.Warn("what was being written stays on disk", "error", err)
	}
	if err := os.RemoveAll(a.benchFolder()); err != nil {
		a.log.Warn("what a bench left stays on disk", "path", a.benchFolder(), "error", err)
	}
	if a.db, err = storage.Open(a.home.Path(home.DatabaseFile), storage.Options{Logger: o.Logger}); err != nil {
		return nil, err
	}
	if a.thread, err = mlx.NewThread(mlx.Options{}); err != nil {
		return nil, fmt.Errorf("start MLX: %w", err)
	}
	a.wire(ctx)
	if err := a.openSettings(ctx); err != nil {
		return nil, err
	}
	a.connect = connect.New(a.db, a.home, a.settings, a.keys, a.State)
	if err := errors.Join(a.openDownloads(ctx), a.openWelcome(ctx), a.openUpdates(ctx)); err != nil {
		return nil, err
	}
	if err := a.registerPocket(ctx); err != nil {
		return nil, err
	}
	if err := a.choose(ctx, o.Model); err != nil {
		return nil, err
	}
	if o.Drafter != "" {
		if err := a.chooseDrafter(ctx); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// choose settles the choice: what was asked for, else the last one, else the
// pocket model.
func (a *App) choose(ctx context.Context, name string) (err error) {
	if name == "" || name == control.Alias {
		a.choice, err = lastChoice(ctx, a.db)
		return err
	}
	_, err = a.db.Model(ctx, name)
	switch {
	case storage.IsNotFound(err) && IsFolder(name):
		m, err := a.AddModel(ctx, control.AddRequest{Path: name})
		if err != nil {
			return err
		}
		name = m.ID
	case err != nil:
		return a.notRegistered(err, name)
	}
	a.choice = name
	return nil
}

// chooseDrafter takes Options.Drafter for the choice.
func (a *App) chooseDrafter(ctx context.Context) error {
	name := a.opts.Drafter
	if IsFolder(name) {
		dir, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		name = dir
	}
	folder, err := a.drafterFolder(name)
	if err != nil {
		return err
	}
	row, err := a.db.Model(ctx, a.choice)
	if err != nil {
		return a.notRegistered(err, a.choice)
	}
	if folder != control.DrafterAuto && folder != control.DrafterNone {
		if err := a.checkDrafter(ctx, row, folder); err != nil {
			return err
		}
	}
	a.opts.Drafter, a.drafterFor = folder, row.ID
	return nil
}

// Close ends a load in progress, frees the models, ends the thread and releases
// the home folder. Serve must have ended, and nobody may hold a model.
func (a *App) Close() error {
	a.end()
	a.downloads.wait()
	var errs []error
	if a.thread != nil {
		_ = a.settle(context.Background()) // it has no end to tell of
		list := a.resident
		a.resident, a.draining = nil, true
		a.mu.Unlock()
		errs = append(errs, closeAll(list), a.thread.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	if a.home != nil {
		errs = append(errs, a.home.Close())
	}
	return errors.Join(errs...)
}

// State implements server.Status.
func (a *App) State() control.State {
	// Before a.mu, which nobody may hold for long; and before the models, so that one that
	// was downloaded is never in neither list.
	downloading := a.downloads.states()
	choosable, now, room := a.choosable(), a.settings.Current(), a.room()
	a.mu.Lock()
	defer a.mu.Unlock()
	mem, foremost := a.thread.Memory(), a.foremost()
	st := control.State{
		Version: a.opts.Version, PID: os.Getpid(), Home: a.home.Dir,
		StartedAt: a.started,
		Welcome:   a.welcome,
		Phase:     control.PhaseNoModel, Choice: a.choice, Error: a.failure, MenuSpeed: now.MenuSpeed,
		ContextLimit: a.opts.ContextLength,
		Models:       choosable, Downloads: downloading,
		ActiveBytes: mem.Active, PeakBytes: mem.Most,
		InMemory: []control.Loaded{},
	}
	for _, m := range a.resident {
		shown := *m.describe()
		shown.InUse = m.users > 0
		st.InMemory = append(st.InMemory, shown)
		if m == foremost {
			st.Loaded = &shown
		}
		if m.store != nil {
			st.Warning = cmp.Or(st.Warning, m.store.Failure())
		}
	}
	if a.coming != nil {
		st.Loading = a.coming.describe()
	}
	if a.memory() > 0 {
		st.MemoryRoom = room
	}
	if a.endBench != nil {
		st.Measuring = cmp.Or(a.benchProgress, &control.BenchProgress{})
	}
	a.endpoint.Describe(&st)
	switch {
	case a.draining, a.leaving:
		st.Phase = control.PhaseDraining
	case a.coming != nil && (foremost == nil || a.changing != nil && a.changing.choice || a.coming.id == a.choice):
		st.Phase = control.PhaseLoading // who asks for the choice waits
	case foremost != nil:
		st.Phase = control.PhaseReady
	case a.failure != "":
		st.Phase = control.PhaseFailed
	case a.starting:
		st.Phase = control.PhaseStarting
	}
	return st
}

// choosable lists the registry for State.
func (a *App) choosable() []control.Choosable {
	rows, err := a.db.Models(context.Background())
	if err != nil {
		a.log.Warn("listing the models", "error", err)
	}
	list := make([]control.Choosable, len(rows))
	for i, r := range rows {
		list[i] = control.Choosable{ID: r.ID, LoadMS: r.LoadMS}
	}
	return list
}

// notRegistered turns a missing row into what the client is told.
func (a *App) notRegistered(err error, name string) error {
	if !storage.IsNotFound(err) {
		return err
	}
	return control.Errorf(control.CodeModelNotFound,
		"The model %q is not registered. `tandem models list` shows those that are; `tandem models add FOLDER` or `tandem pull ORG/NAME` adds one.", name)
}

// Device starts MLX for a moment and says what it computes on.
func Device() (string, error) {
	t, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return "", err
	}
	defer t.Close()
	if t.GPU() {
		return "MLX " + mlx.Version() + " on the GPU", nil
	}
	return "MLX " + mlx.Version() + " on the CPU, BLAS " + mlx.BLAS(), nil
}
