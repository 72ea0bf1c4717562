package lab

import (
	"context"
	"testing"

	"tandem/app"
)

// openApp is an OpenStage.
func openApp(ctx context.Context, drafter string) (Stage, error) {
	return app.OpenStage(ctx, drafter)
}

// serveApp serves on a free port until the test ends. It returns the address and the home folder.
func serveApp(t *testing.T, o app.Options) (url, home string) {
	t.Helper()
	o.Home = t.TempDir()
	a, err := app.Open(t.Context(), o)
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
	return <-ready, o.Home
}
