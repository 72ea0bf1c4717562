package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
)

func (f *fakeBackend) Storage(context.Context) (control.Storage, error) {
	return control.Storage{Home: "/home", ByDay: []control.Usage{{Name: "2026-11-22", Runs: 3,
		Bytes: 5}}}, nil
}

func (f *fakeBackend) Removal(ctx context.Context, id string) (control.Removal, error) {
	return f.RemoveModel(ctx, id)
}

func (f *fakeBackend) ForgetTexts(_ context.Context, key int64) (control.Forgotten, error) {
	return control.Forgotten{Tokens: int(key)}, nil
}

func (f *fakeBackend) WouldForget(
	_ context.Context, q control.ForgetRequest,
) (control.Forgotten, error) {
	f.forgot = q
	return control.Forgotten{Runs: 2, Bytes: 700}, nil
}

func (f *fakeBackend) WouldDelete(
	ctx context.Context, name string, all bool,
) (control.Deleted, error) {
	d, err := f.DeleteCheckpoint(ctx, name, all)
	if d.Bytes = 5; all {
		d.Bytes = 9
	}
	return d, err
}

// The routes list what is on disk, and what a deletion would delete.
func TestDiskRoutesListAndForget(t *testing.T) {
	fake := lettered(control.KindAnswer)
	s := New(fake.services(), Options{})
	for path, want := range map[string]string{
		"/app/checkpoints/abc/deletion":          `{"checkpoints":["abc"],"bytes":5}`,
		"/app/checkpoints/abc/deletion?all=true": `{"checkpoints":["abc"],"bytes":9}`,

		"/app/storage":                  `"by_day":[{"name":"2026-11-22","runs":3,"checkpoints":0,"bytes":5}]`,
		"/app/removal?model=acme/coder": `{"id":"acme/coder","deletes":true,"bytes":1000}`,
		"/app/forget?model=acme%2Fcoder&client=a+b&day=2026-11-22": `"bytes":700`,
	} {
		if w := socketGet(s, path); w.Code != http.StatusOK ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s in it", path, w.Code, w.Body, want)
		}
	}
	if fake.forgot != (control.ForgetRequest{Model: "acme/coder", Client: "a b",
		Day: "2026-11-22"}) {
		t.Errorf("asked about %+v", fake.forgot)
	}
	wantError(t, socketGet(s, "/app/removal?model=none"), http.StatusNotFound,
		control.CodeModelNotFound)
	if w := socketPost(s, "/app/reveal", `{"model":"acme/coder"}`); w.Code != http.StatusOK ||
		!slices.Equal(fake.revealed, []string{"acme/coder"}) {
		t.Errorf("reveal: %d %s, shown: %q", w.Code, w.Body, fake.revealed)
	}
	wantError(t, socketPost(s, "/app/reveal", `{"model":"none"}`), http.StatusNotFound,
		control.CodeModelNotFound)
	wantError(t, socketPost(s, "/app/reveal", `{}`), http.StatusBadRequest, control.CodeInvalid)
	wantError(t, socketGet(s, "/app/checkpoints/none/deletion"), http.StatusNotFound,
		control.CodeNoCheckpoint)
	for _, query := range []string{"", "?model=", "?day=yesterday", "?model=x&day=2026-13-01"} {
		wantError(t, socketGet(s, "/app/forget"+query), http.StatusBadRequest, control.CodeInvalid)
	}
}
