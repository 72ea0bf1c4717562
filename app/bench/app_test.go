package bench_test

import (
	"context"
	"os"
	"testing"

	"tandem/app"
	"tandem/app/bench"
)

func TestMain(m *testing.M) {
	bench.OpenApp, bench.ServeApp = app.OpenStage, serveApp
	os.Exit(m.Run())
}

func serveApp(t *testing.T, o bench.AppOptions) (url, home string) {
	t.Helper()
	home = t.TempDir()
	a, err := app.Open(t.Context(), app.Options{
		Home: home, Model: o.Model, Logger: o.Logger, NoCheckpoints: o.NoCheckpoints,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- a.Serve(ctx, app.ServeOptions{
			Addr: "127.0.0.1:0", Ready: func(url, _ string) { ready <- url },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return <-ready, home
}
