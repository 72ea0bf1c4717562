package server

import (
	"context"

	"tandem/app/control"
)

// The fake keeps settings, all of them as they were set.
func (f *fakeBackend) Settings(context.Context) (control.SettingsState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return control.SettingsState{Settings: f.set}, nil
}

func (f *fakeBackend) ChangeSettings(ctx context.Context, change control.SettingsChange) (control.SettingsState, error) {
	f.mu.Lock()
	next, err := f.set.With(change, control.DefaultSettings())
	if err == nil {
		f.set = next
	}
	f.mu.Unlock()
	if err != nil {
		return control.SettingsState{}, err
	}
	return f.Settings(ctx)
}

func (f *fakeBackend) SetPort(_ context.Context, port int) error {
	if port == 80 {
		return control.Errorf(control.CodePortTaken, "port 80 is taken by another program")
	}
	return nil
}

// fakeKey is the key of "zed".
const fakeKey = "tandem-zed"

func (f *fakeBackend) Keys(context.Context) ([]control.Key, error) {
	if !f.HasKeys() {
		return nil, nil
	}
	return []control.Key{{ID: 1, Name: "zed"}}, nil
}

func (f *fakeBackend) AddKey(_ context.Context, r control.KeyRequest) (control.NewKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keyed = true
	return control.NewKey{Key: control.Key{ID: 1, Name: r.Name}, Secret: fakeKey}, nil
}

func (f *fakeBackend) DeleteKey(_ context.Context, id int64) error {
	if id != 1 {
		return control.Errorf(control.CodeKeyNotFound, "There is no key %d.", id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keyed = false
	return nil
}

func (f *fakeBackend) FindKey(secret string) (name string, ok bool) {
	return "zed", f.HasKeys() && secret == fakeKey
}

func (f *fakeBackend) HasKeys() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keyed
}
