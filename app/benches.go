package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tandem/app/bench"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/engine/mlx"
	"tandem/storage"
)

// What ends a bench before its time.
var (
	errBenchCancelled = control.Errorf(control.CodeCancelled,
		"The measurement was cancelled; nothing of it is kept.")
	errBenchUnloaded = control.Errorf(control.CodeModelBusy,
		"The model left the memory or changed its drafter, so the measurement ended; measure again.")
)

// Benches implements server.Benches.
func (a *App) Benches(ctx context.Context) (control.Benches, error) {
	a.mu.Lock()
	out := control.Benches{Benches: []control.Bench{}, Running: a.cancelBench != nil,
		Progress: a.benchProgress, Failure: a.benchFailure}
	a.mu.Unlock()
	rows, err := a.db.Benches(ctx)
	if err != nil {
		return out, err
	}
	for _, row := range rows {
		b, err := describeBench(row)
		if err != nil {
			return out, err
		}
		out.Benches = append(out.Benches, b)
	}
	out.Plan = a.planBench(ctx)
	return out, nil
}

// planBench returns what the next bench measures, nil if that is not known.
func (a *App) planBench(ctx context.Context) *control.BenchPlan {
	model := a.pool.Choice()
	found, err := a.pool.Candidates(ctx, model)
	if err != nil {
		return nil // without a choice, or its cache cannot be read: the bench says why
	}
	found = found[:min(len(found), bench.MaxDrafters)]
	p := &control.BenchPlan{Model: model, Drafters: []string{},
		Seconds: a.benchPlan.Takes(len(found)).Seconds()}
	for _, c := range found {
		p.Drafters = append(p.Drafters, c.Name)
	}
	return p
}

func describeBench(row storage.Bench) (control.Bench, error) {
	b := control.Bench{ID: row.ID, At: row.At, Model: row.Model, Machine: row.Machine,
		Version: row.Version}
	if err := json.Unmarshal(row.Result, &b.Result); err != nil {
		return b, fmt.Errorf("bench %d: %w", row.ID, err)
	}
	return b, nil
}

// RunBench implements server.Benches. The bench does not hold the model: it ends when the model is
// to be unloaded or exchanged.
func (a *App) RunBench(ctx context.Context,
	progress func(control.BenchProgress)) (_ control.Bench, err error) {
	m, err := a.pool.Borrow(ctx)
	if err != nil {
		return control.Bench{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var result control.BenchResult
	released, done := make(chan struct{}), make(chan struct{})
	a.mu.Lock()
	if a.cancelBench != nil {
		a.mu.Unlock()
		m.Release()
		return control.Bench{}, control.Errorf(control.CodeModelBusy,
			"A measurement is running; wait until it ends, or cancel it.")
	}
	a.cancelBench, a.benchFailure = cancel, ""
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.cancelBench, a.benchProgress, a.benchFailure = nil, nil, benchFailure(err)
	}()
	follow := func(p control.BenchProgress) {
		a.mu.Lock()
		a.benchProgress = &p
		a.mu.Unlock()
		progress(p)
	}
	// Lend is called while the model is held, so that it cannot leave the memory before. The bench
	// runs after Release.
	m.Lend(func(gone context.Context) {
		defer close(done)
		<-released
		defer context.AfterFunc(gone, func() { cancel(errBenchUnloaded) })()
		b := bench.NewShort(m, a.benchFolder(), a.benchPlan, follow)
		result, err = b.Run(ctx)
		clear := func(s *mlx.Scope) error { s.ClearCache(); return nil }
		err = errors.Join(err, a.thread.Do(context.Background(), clear))
	})
	a.mu.Unlock()
	m.Release()
	close(released)
	<-done
	if cause := context.Cause(ctx); cause != nil {
		return control.Bench{}, cause
	}
	if err != nil {
		return control.Bench{}, fmt.Errorf("bench: %w", err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return control.Bench{}, err
	}
	row, err := a.db.AddBench(ctx, storage.Bench{Model: m.ID(), Machine: home.Machine(),
		Version: a.opts.Version, Result: text})
	if err != nil {
		return control.Bench{}, err
	}
	return describeBench(row)
}

// CancelBench implements server.Benches.
func (a *App) CancelBench(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancelBench == nil {
		return control.Errorf(control.CodeNoBench, "No measurement is running.")
	}
	a.cancelBench(errBenchCancelled)
	return nil
}

// DeleteBench implements server.Benches.
func (a *App) DeleteBench(ctx context.Context, id int64) error {
	err := a.db.DeleteBench(ctx, id)
	if storage.IsNotFound(err) {
		return &control.Error{Code: control.CodeNoBench,
			Message: fmt.Sprintf("There is no bench %d.", id), Err: err}
	}
	return err
}

// benchFailure returns why a bench has no result, for clients that ask later. It is empty if there
// is a result, or if a person ended the bench.
func benchFailure(err error) string {
	e, ok := errors.AsType[*control.Error](err)
	switch {
	case err == nil, errors.Is(err, context.Canceled), ok && e.Code == control.CodeCancelled:
		return ""
	case ok:
		return e.Message
	}
	return "The measurement failed; the log under Help says why."
}

// benchFolder returns the folder that benches write to. Open deletes what a crash left there.
func (a *App) benchFolder() string { return a.home.Path("run", "bench") }
