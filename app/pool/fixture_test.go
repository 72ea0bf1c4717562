package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/server"
	"tandem/app/settings"
	"tandem/app/wire"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// A setup holds the options of a test's pool.
type setup struct {
	Home, Model   string // folders; empty = a new one for Home, the pocket model for Model
	Logger        *slog.Logger
	Memory        int64
	ContextLength int
	NoCheckpoints bool
	Speculation   string
	Dtype         control.Dtype // empty = auto
	KVBits        int           // by a flag; 0 = no flag
	KVLayout      string
	Restore       func(id, path, drafter string) (*Restoration, error)
	Hub           hub.Options
}

// running is a pool that serves an endpoint and a control socket, with stand-ins for the other
// rooms.
type running struct {
	pool     *Pool
	library  shelf
	thread   *mlx.Thread
	db       *storage.DB
	home     *home.Home
	settings *settings.Store
	runs     endedRuns
	leaves   *atomic.Pointer[departure] // see damage
	url      string
}

// open opens a pool. It is closed with the test.
func open(t *testing.T, o setup) *running {
	t.Helper()
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := &running{}
	var err error
	r.home, err = home.Open(o.Home)
	must(err)
	r.db, err = storage.Open(r.home.Path(home.DatabaseFile), storage.Options{Logger: o.Logger})
	must(err)
	r.thread, err = mlx.NewThread(mlx.Options{})
	must(err)
	set := control.DefaultSettings()
	set.Dtype = cmp.Or(o.Dtype, set.Dtype)
	var given map[string]control.Given
	if set.KVBits = o.KVBits; o.KVBits > 0 {
		given = map[string]control.Given{"kv_bits": {Source: control.FromFlag, By: "--kv-bits"}}
	}
	r.settings, _, err = settings.Open(t.Context(), r.db, r.home, o.Logger,
		settings.Options{Hub: o.Hub, Settings: set, Overrides: given})
	must(err)
	life, end := context.WithCancel(context.Background())
	r.pool = New(life, r.thread, r.db, r.home, r.settings, o.Logger, Options{
		Memory: o.Memory, ContextLength: o.ContextLength, NoCheckpoints: o.NoCheckpoints,
		Speculation: o.Speculation, KVLayout: o.KVLayout, Restore: o.Restore,
	})
	r.library = shelf{r.db, r.pool}
	t.Cleanup(func() {
		end()
		if err := errors.Join(r.pool.Close(), r.thread.Close(), r.db.Close(),
			r.home.Close()); err != nil {
			t.Error(err)
		}
	})
	info, err := models.OpenPocket().Summary()
	must(err)
	_, err = r.library.register(t.Context(), storage.Model{ID: models.PocketID,
		Source: storage.SourcePocket}, info)
	must(err)
	choice := models.PocketID
	if o.Model != "" {
		m, err := r.library.AddModel(t.Context(), control.AddRequest{Path: o.Model})
		must(err)
		choice = m.ID
	}
	r.pool.Start(choice)
	return r
}

// start opens a pool and serves it on a free port.
func start(t *testing.T, o setup) *running {
	t.Helper()
	r := open(t, o)
	srv := server.New(server.Services{ // no test needs the other services
		Pool: r.pool, Residents: r.pool, Status: r, Runs: &r.runs, Texts: noTexts{},
	}, server.Options{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + tcp.Addr().String()
	socket, err := control.Listen(r.home.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for l, h := range map[net.Listener]http.Handler{tcp: srv.Endpoint(), socket: srv.Socket()} {
		s := wire.HTTP(h, nil, nil)
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = s.Serve(l) // until the test ends
		}()
		t.Cleanup(func() {
			if err := s.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			<-served
		})
	}
	return r
}

// State implements server.Status.
func (r *running) State() control.State {
	st := control.State{Home: r.home.Dir}
	r.pool.State(&st)
	return st
}

// Welcomed implements server.Status.
func (r *running) Welcomed(context.Context, bool) error { return nil }

// ChangeSettings changes settings as a person does.
func (r *running) ChangeSettings(ctx context.Context,
	change control.SettingsChange) (control.SettingsState, error) {
	c, err := r.settings.Begin(change)
	if err != nil {
		return control.SettingsState{}, err
	}
	defer c.End()
	if err := errors.Join(c.Check(), c.Prepare()); err != nil {
		return control.SettingsState{}, err
	}
	if _, err := c.Commit(ctx); err != nil {
		return control.SettingsState{}, err
	}
	return r.settings.State(r.pool.SettingsLater()), nil
}

// client speaks to the control socket.
func (r *running) client(t *testing.T) *control.Client {
	c := control.Dial(r.home.Dir)
	t.Cleanup(c.Close)
	return c
}

// post posts to a route and returns status and body.
func (r *running) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(r.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// complete posts a completion of four tokens.
func (r *running) complete(t *testing.T, model, prompt string) (int, string) {
	t.Helper()
	return r.post(t, "/v1/completions",
		fmt.Sprintf(`{"model":%q,"prompt":%q,"max_tokens":4,"temperature":0}`, model, prompt))
}

// embedded asks the model embedder for embeddings.
func (r *running) embedded(t *testing.T, fields string) {
	t.Helper()
	if status, body := r.post(t, "/v1/embeddings",
		`{"model":"embedder",`+fields+`}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
}

// A shelf stands in for the library: it registers folders and removes their rows.
type shelf struct {
	db   *storage.DB
	pool *Pool
}

func (s shelf) register(
	ctx context.Context, row storage.Model, info models.Summary,
) (storage.Model, error) {
	row.Architecture, row.Quantization, row.Dtype = info.Architecture, info.Quantization, info.Dtype
	row.Parameters, row.Bytes, row.ContextLength, row.Kind = info.Parameters, info.Bytes,
		info.ContextLength, string(info.Kind)
	return s.db.Models.Register(ctx, row)
}

// AddModel registers a folder by the requested name, or by the folder's name.
func (s shelf) AddModel(ctx context.Context, r control.AddRequest) (storage.Model, error) {
	info, err := models.Inspect(r.Path)
	if err != nil {
		return storage.Model{}, err
	}
	if r.ID == "" {
		r.ID = filepath.Base(r.Path)
	}
	return s.register(ctx, storage.Model{ID: r.ID, Path: r.Path, Source: storage.SourceFolder},
		info)
}

// RemoveModel takes a model out of memory and removes its row.
func (s shelf) RemoveModel(ctx context.Context, id string) (bool, error) {
	return s.pool.RemoveModel(ctx, id, func(ctx context.Context,
		row storage.Model) error {
		return s.db.Models.Remove(ctx, row.ID)
	})
}

// runs is another name for server.Runs, because Runs is also a method.
type runs = server.Runs

// endedRuns counts runs and remembers how they ended.
type endedRuns struct {
	runs
	mu    sync.Mutex
	last  int64
	ended []control.Run
}

func (e *endedRuns) BeginRun(context.Context, control.Run) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	return e.last, nil
}

func (e *endedRuns) FinishRun(_ context.Context, r control.Run) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = append(e.ended, r)
	return nil
}

func (e *endedRuns) DropRun(context.Context, int64) error { return nil }

// all returns the runs in the order in which they ended.
func (e *endedRuns) all() []control.Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.ended)
}

// noTexts keeps no texts.
type noTexts struct{ api.Texts }

func (noTexts) SetRunText(context.Context, control.RunText) error { return nil }

// tinyModel makes a folder of the given name with a random model.
func tinyModel(t *testing.T, arch, name string, fields ...map[string]any) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Rename(enginetest.TinyModel(t, arch, fields...), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeModel makes a folder of the given name with a random Llama.
func writeModel(t *testing.T, name string) string { return tinyModel(t, "llama", name) }

// longModel returns a model whose context takes a prompt of 8k tokens and more. It does not end by
// itself.
func longModel(t *testing.T) string {
	t.Helper()
	path := filepath.Join(writeModel(t, "long"), "config.json")
	b, err := os.ReadFile(path)
	config := map[string]any{}
	if err := errors.Join(err, json.Unmarshal(b, &config)); err != nil {
		t.Fatal(err)
	}
	config["max_position_embeddings"], config["eos_token_id"] = 1<<16, 1000
	b, err = json.Marshal(config)
	if err := errors.Join(err, os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}
