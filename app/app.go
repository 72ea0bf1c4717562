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

	"tandem/app/bench"
	"tandem/app/connect"
	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/endpoint"
	"tandem/app/history"
	"tandem/app/home"
	"tandem/app/library"
	"tandem/app/pool"
	"tandem/app/server"
	"tandem/app/settings"
	"tandem/app/wire"
	"tandem/engine"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// Options of an App.
type Options struct {
	Home    string       // folder, see home.Open
	Version string       // of the program
	Logger  *slog.Logger // nil discards

	// Model becomes the choice: a folder to register, or the id of a registered model. The choice is
	// kept once it was loaded. Empty takes the last choice, else the starter, else the pocket model.
	Model string

	// Trial leaves the last choice alone: the next start does not take Model.
	Trial bool

	Starter string // path of the starter model; empty = none

	ContextLength int   // positions; zero = the model's, or as many as there is memory for
	Memory        int64 // of the machine, in bytes; 0 asks the system

	// Speculation is the drafter of requests that name none: auto or none; empty = auto.
	Speculation string

	// NoCheckpoints evaluates every prompt whole. Otherwise the state that a request computed is
	// kept, in memory and in the home folder, for requests that begin alike.
	NoCheckpoints bool

	// KVLayout and Restore say how models keep rows of keys and values while this App runs, see
	// pool.Options.
	KVLayout string
	Restore  func(id, path, drafter string) (*pool.Restoration, error)

	// Drafter drafts for the choice while this App runs: control.DrafterAuto, control.DrafterNone, a
	// folder, or a name in the hub's cache. Empty takes the one that is set for the model.
	Drafter string

	// Hub says where models are downloaded from and to, unless a setting does.
	Hub hub.Options

	// Settings hold until a person sets something; zero = control.DefaultSettings. Overrides names the
	// settings, also of Hub, that a flag or the environment decides whatever is set.
	Settings  control.Settings
	Overrides map[string]control.Given

	// For the link to the command line tool: the user's folder, the path of this program, and PATH.
	UserHome, Program, Path string

	// UpdateFeed is the address that names the newest version; empty = none.
	UpdateFeed string

	// IssuePage is the address of the form for problems; empty = none.
	IssuePage string

	// ModelFolders are searched for models, beside the hub's cache and the folders that are set.
	ModelFolders []library.ModelFolder

	// Generate gives the answers, in a program that tests clients; nil = the models do.
	Generate pool.Generator
}

// An App is one running Tandem.
type App struct {
	opts    Options
	log     *slog.Logger
	home    *home.Home
	db      *storage.DB
	thread  *mlx.Thread
	started time.Time

	// life ends, by end, when Serve drains or Close begins. A load ends with it, not with the request
	// that began it.
	life context.Context
	end  context.CancelFunc

	settings *settings.Store
	keys     *settings.Keys
	pool     *pool.Pool
	library  *library.Library
	history  *history.History
	chats    *history.Chats
	endpoint *endpoint.Endpoint
	connect  *connect.Connections

	mu       sync.Mutex
	starting bool           // Serve has yet to load the choice
	welcome  bool           // the first steps are to be shown
	leaving  bool           // Serve refuses new work, and its drain has not begun
	server   *server.Server // while Serve runs, and after
	moved    func(string)   // ServeOptions.Moved, or nil

	cancelBench   context.CancelCauseFunc // nil when no bench runs
	benchProgress *control.BenchProgress  // the latest; nil before the first
	benchFailure  string                  // why the last one has no result; empty if a person ended it
	benchPlan     bench.Plan

	updates updates
	lines   *logRing // of the log
}

// Open takes the home folder and opens everything but listeners and the model. Error: *LockedError
// if another process serves the folder.
func Open(ctx context.Context, o Options) (_ *App, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ring := newLogRing()
	o.Logger = slog.New(wire.ClipLog(slog.NewMultiHandler(o.Logger.Handler(),
		ringHandler{ring: ring})))
	a := &App{opts: o, log: o.Logger, started: time.Now(), lines: ring, benchPlan: bench.Minutes}
	a.life, a.end = context.WithCancel(context.Background())
	a.endpoint = endpoint.New(a.log, func(address string) error { return a.home.Announce(address) })
	// If a later step fails, the steps before it are undone in reverse.
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if !slices.Contains([]string{"", engine.Auto, engine.None}, o.Speculation) {
		return nil, fmt.Errorf("speculation %q: use %s or %s",
			o.Speculation, engine.Auto, engine.None)
	}
	if by, given := o.Overrides["kv_bits"]; given && !slices.Contains(control.KVBits, o.Settings.KVBits) {
		return nil, fmt.Errorf("%s must be 8, 4 or 0", by.By)
	}
	if a.home, err = home.Open(o.Home); err != nil {
		return nil, err
	}
	if err := a.home.Sweep(); err != nil {
		a.log.Warn("the home folder cannot be tidied", "error", err)
	}
	if err := os.RemoveAll(a.benchFolder()); err != nil {
		a.log.Warn("the files of a bench stay on disk", "path", a.benchFolder(), "error", err)
	}
	if a.home.LostDatabase(pool.CheckpointFolder, drafters.TextFolder) {
		a.log.Warn("the database is missing or empty, although checkpoints of earlier runs are there: chats, "+
			"runs and settings begin anew; to have them back, quit Tandem and put a copy of the database there",
			"path", a.home.Path(home.DatabaseFile))
	}
	if a.db, err = storage.Open(a.home.Path(home.DatabaseFile),
		storage.Options{Logger: o.Logger}); err != nil {
		return nil, err
	}
	if a.thread, err = mlx.NewThread(mlx.Options{}); err != nil {
		return nil, fmt.Errorf("start MLX: %w", err)
	}
	if err := a.openRooms(ctx); err != nil {
		return nil, err
	}
	if err := a.choose(ctx, o.Model); err != nil {
		return nil, err
	}
	return a, a.useDrafter(ctx, o.Drafter)
}

// useDrafter sets what drafts for the choice. A path counts from the working folder.
func (a *App) useDrafter(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	_, err := a.db.Models.Get(ctx, name)
	if storage.IsNotFound(err) && library.IsFolder(name) {
		if name, err = filepath.Abs(name); err != nil {
			return err
		}
	}
	return a.pool.UseDrafter(ctx, name)
}

// openRooms opens the rooms. It gives each the rooms that it needs.
func (a *App) openRooms(ctx context.Context) error {
	o := a.opts
	if err := a.openSettings(ctx); err != nil {
		return err
	}
	a.pool = pool.New(a.life, a.thread, a.db, a.home, a.settings, a.log, pool.Options{
		ContextLength: o.ContextLength, Memory: o.Memory, Speculation: o.Speculation,
		NoCheckpoints: o.NoCheckpoints, KVLayout: o.KVLayout, Restore: o.Restore, Trial: o.Trial,
		Generate: o.Generate,
	})
	a.pool.Wire(ctx)
	// Flags may ask for more than the machine has. That must not stop a start.
	if err := a.checkBudgets(ctx, control.DefaultSettings(), a.settings.Defaults()); err != nil {
		a.log.Warn("checkpoints get less than was asked for, since the machine has less",
			"error", err)
	}
	var err error
	a.library, err = library.Open(ctx, a.life, a.db, a.home, a.settings, a.pool, a.log,
		library.Options{ModelFolders: o.ModelFolders, Starter: o.Starter})
	if err != nil {
		return err
	}
	a.history = history.New(a.db, a.home, a.settings, a.pool, a.log,
		history.Options{NoCheckpoints: o.NoCheckpoints})
	a.chats = history.NewChats(a.db, a.home, a.pool)
	a.keys.OnDelete(func(id int64) error {
		_, _, err := a.pool.Texts.ForgetKey(id)
		return err
	})
	if err := a.pool.Texts.Sweep(ctx); err != nil {
		a.log.Warn("texts of deleted keys stay on disk", "error", err)
	}
	a.connect = connect.New(a.db, a.home, a.settings, a.keys, a.State)
	return errors.Join(a.openWelcome(ctx), a.openUpdates(ctx))
}

// choose sets the choice: the model that was asked for, or else the last choice.
func (a *App) choose(ctx context.Context, name string) error {
	if name == "" || name == control.Alias {
		id, err := pool.LastChoice(ctx, a.db)
		a.pool.Start(id)
		return err
	}
	_, err := a.db.Models.Get(ctx, name)
	switch {
	case storage.IsNotFound(err) && library.IsFolder(name):
		m, err := a.library.AddModel(ctx, control.AddRequest{Path: name})
		if err != nil {
			return err
		}
		name = m.ID
	case storage.IsNotFound(err):
		of, failed := a.library.IDOf(ctx, name)
		if failed != nil || of == name {
			return pool.NotInstalled(err, name)
		}
		name = of
	case err != nil:
		return err
	}
	a.pool.Start(name)
	return nil
}

// Close ends a load in progress, frees the models, ends the thread and releases the home folder.
// Before that Serve has to have ended, and every model has to be released.
func (a *App) Close() error {
	a.end()
	if a.library != nil {
		a.library.Close()
	}
	var errs []error
	if a.thread != nil {
		if a.pool != nil {
			errs = append(errs, a.pool.Close())
		}
		errs = append(errs, a.thread.Close())
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
	// Downloads are read before the models. So a model that has just arrived is in one of the lists.
	st := control.State{
		Downloads: a.library.Downloads(), Models: a.choosable(),
		Version: a.opts.Version, PID: os.Getpid(), Home: a.home.Dir, StartedAt: a.started,
		MenuSpeed: a.settings.Current().MenuSpeed, ContextLimit: a.opts.ContextLength,
		IssuePage: a.opts.IssuePage,
	}
	a.pool.State(&st)
	a.endpoint.Describe(&st)
	a.mu.Lock()
	defer a.mu.Unlock()
	st.Welcome = a.welcome
	if st.Choice == models.PocketID {
		st.Warning = cmp.Or(st.Warning, a.library.StarterFault())
	}
	if a.cancelBench != nil {
		st.Measuring = cmp.Or(a.benchProgress, &control.BenchProgress{})
	}
	switch {
	case a.leaving:
		st.Phase = control.PhaseDraining
	case a.starting && st.Phase == control.PhaseNoModel:
		st.Phase = control.PhaseStarting
	}
	return st
}

// ServesStarter reports whether the choice is the starter model, whatever its id.
func (a *App) ServesStarter() bool {
	id, err := pool.StarterID(context.Background(), a.db)
	return err == nil && id != "" && id == a.State().Choice
}

// Spare returns the id of a model that comes with the program and is not the choice: the starter
// before pocket. It is empty without one.
func (a *App) Spare() string {
	id, err := pool.StarterID(context.Background(), a.db)
	choice := a.State().Choice
	switch {
	case err == nil && id != "" && id != choice:
		return id
	case choice != models.PocketID:
		return models.PocketID
	}
	return ""
}

// choosable returns the registered models as State shows them.
func (a *App) choosable() []control.Choosable {
	rows, err := a.db.Models.List(context.Background())
	if err != nil {
		a.log.Warn("listing the models", "error", err)
	}
	list := make([]control.Choosable, len(rows))
	for i, r := range rows {
		list[i] = control.Choosable{ID: r.ID, LoadMS: r.LoadMS}
	}
	return list
}

// computingDevice starts MLX for a moment, and returns its version and the device it computes on.
func computingDevice() (string, error) {
	t, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return "", err
	}
	defer t.Close()
	if t.GPU() {
		return computesOn(t), nil
	}
	return computesOn(t) + ", BLAS " + mlx.BLAS() + " for " + mlx.BLASCore(), nil
}
