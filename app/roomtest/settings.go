package roomtest

import (
	"context"
	"encoding/json"
	"slices"

	"tandem/app/control"
)

// Settings returns all settings as they were set.
func (f *Backend) Settings(context.Context) (control.SettingsState, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return control.SettingsState{Settings: f.Set}, nil
}

func (f *Backend) ChangeSettings(ctx context.Context,
	change control.SettingsChange) (control.SettingsState, error) {
	f.Mu.Lock()
	next, err := f.Set.With(change, control.DefaultSettings())
	if err == nil {
		f.Set = next
	}
	f.Mu.Unlock()
	if err != nil {
		return control.SettingsState{}, err
	}
	return f.Settings(ctx)
}

func (f *Backend) SetPort(_ context.Context, port int) error {
	if port == 80 {
		return control.Errorf(control.CodePortTaken, "port 80 is taken by another program")
	}
	return nil
}

func (f *Backend) Log(after int64) ([]control.LogLine, <-chan struct{}) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.more == nil {
		f.more = make(chan struct{})
	}
	return slices.Clone(f.lines[min(int(after), len(f.lines)):]), f.more
}

func (f *Backend) AddLog(text string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.lines = append(f.lines, control.LogLine{Seq: int64(len(f.lines) + 1), Level: "INFO",
		Text: text})
	if f.more != nil {
		close(f.more)
	}
	f.more = make(chan struct{})
}

func (f *Backend) Report(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"version":"test"}`), nil
}

func (f *Backend) SaveReport(context.Context, control.SaveReport) (control.Saved, error) {
	return control.Saved{Path: "/downloads/report.json"}, nil
}

func (f *Backend) ExportSettings(context.Context) (control.Saved, error) {
	return control.Saved{Path: "/downloads/settings.json"}, nil
}

func (f *Backend) CommandLine(context.Context) (control.CommandLine, error) {
	return control.CommandLine{Path: "/home/.local/bin/tandem", Link: control.LinkForeign}, nil
}

func (f *Backend) LinkCommandLine(context.Context) (control.CommandLine, error) {
	return control.CommandLine{}, control.Errorf(control.CodeFolder, "something else is there")
}

func (f *Backend) Updates() control.Updates { return control.Updates{Offered: true} }

func (f *Backend) CheckUpdates(context.Context) (control.Updates, error) {
	return control.Updates{Offered: true, Newer: true, Version: "9.0.0"}, nil
}
