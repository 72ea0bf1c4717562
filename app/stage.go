package app

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"tandem/app/model"
	"tandem/app/pool"
	"tandem/app/server"
	"tandem/app/wire"
	"tandem/engine"
)

// A Stage is an App in a temporary home folder, for benches. Its endpoints serve an engine that a bench
// watches or replaces.
type Stage struct {
	app     *App
	home    string
	log     *os.File
	servers []*http.Server
}

// OpenStage opens an App for a bench of the lab, with a drafter for its model; empty means auto. Its log goes to
// a file, as with `tandem serve`.
func OpenStage(ctx context.Context, drafter string) (*Stage, error) {
	return openStage(ctx, Options{Drafter: drafter})
}

// A Generating function is called in place of a model's Generate, which it may call.
type Generating = func(context.Context, model.Model, engine.Request) iter.Seq2[engine.Token, error]

func openStage(ctx context.Context, o Options) (s *Stage, err error) {
	s = &Stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.home, err = os.MkdirTemp("", "tandem-bench-"); err != nil {
		return s, err
	}
	if s.log, err = os.Create(filepath.Join(s.home, "log")); err != nil {
		return s, err
	}
	o.Home = filepath.Join(s.home, "home")
	o.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s.app, err = Open(ctx, o)
	return s, err
}

// Serve opens an endpoint on a free port, whose models generate by the function, and returns its
// address.
func (s *Stage) Serve(generate Generating) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	to := s.app.services()
	to.Pool = &fronted{s.app.pool, generate}
	front := server.New(to, server.Options{Logger: s.app.log})
	h := wire.HTTP(front.Endpoint(), s.app.log, nil)
	s.servers = append(s.servers, h)
	go func() { _ = h.Serve(l) }() // until close
	return "http://" + l.Addr().String(), nil
}

// Close ends the endpoints, then the App. Every request has to have ended.
func (s *Stage) Close() error {
	var errs []error
	for _, h := range s.servers {
		errs = append(errs, h.Shutdown(context.Background()))
	}
	if s.app != nil {
		errs = append(errs, s.app.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.home != "" {
		errs = append(errs, os.RemoveAll(s.home))
	}
	return errors.Join(errs...)
}

// A fronted Pool has another Generate.
type fronted struct {
	*pool.Pool
	generate Generating
}

// Acquire implements api.Pool.
func (f *fronted) Acquire(ctx context.Context, name string) (model.Model, error) {
	m, err := f.Pool.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return frontedModel{m, f.generate}, nil
}

type frontedModel struct {
	model.Model
	generate Generating
}

// Generate implements model.Model.
func (m frontedModel) Generate(ctx context.Context,
	r engine.Request) iter.Seq2[engine.Token, error] {
	return m.generate(ctx, m.Model, r)
}
