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
