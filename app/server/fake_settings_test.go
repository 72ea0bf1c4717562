package server

import (
	"context"
	"encoding/json"
	"slices"

	"tandem/app/control"
)

// Settings returns all settings as they were set.
func (f *fakeBackend) Settings(context.Context) (control.SettingsState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return control.SettingsState{Settings: f.set}, nil
}

func (f *fakeBackend) ChangeSettings(ctx context.Context,
	change control.SettingsChange) (control.SettingsState, error) {
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

func (f *fakeBackend) FindKey(secret string) (key control.Key, ok bool) {
	return control.Key{ID: 1, Name: "zed"}, f.HasKeys() && secret == fakeKey
}

func (f *fakeBackend) HasKeys() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keyed
}

func (f *fakeBackend) Log(after int64) ([]control.LogLine, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.more == nil {
		f.more = make(chan struct{})
	}
	return slices.Clone(f.lines[min(int(after), len(f.lines)):]), f.more
}

func (f *fakeBackend) logs(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, control.LogLine{Seq: int64(len(f.lines) + 1), Level: "INFO",
		Text: text})
	if f.more != nil {
		close(f.more)
	}
	f.more = make(chan struct{})
}

func (f *fakeBackend) Report(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"version":"test"}`), nil
}

func (f *fakeBackend) SaveReport(context.Context) (control.Saved, error) {
	return control.Saved{Path: "/downloads/report.json"}, nil
}

func (f *fakeBackend) ExportSettings(context.Context) (control.Saved, error) {
	return control.Saved{Path: "/downloads/settings.json"}, nil
}

func (f *fakeBackend) CommandLine(context.Context) (control.CommandLine, error) {
	return control.CommandLine{Path: "/home/.local/bin/tandem", Link: control.LinkForeign}, nil
}

func (f *fakeBackend) LinkCommandLine(context.Context) (control.CommandLine, error) {
	return control.CommandLine{}, control.Errorf(control.CodeFolder, "something else is there")
}

func (f *fakeBackend) Updates() control.Updates { return control.Updates{Offered: true} }

func (f *fakeBackend) CheckUpdates(context.Context) (control.Updates, error) {
	return control.Updates{Offered: true, Newer: true, Version: "9.0.0"}, nil
}
