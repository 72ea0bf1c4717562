package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/wire"
	"tandem/storage/disk"
)

// How many of the latest a report has.
const (
	reportRuns  = 20
	reportLines = 200
)

// Report implements server.Help.
func (a *App) Report(ctx context.Context) (json.RawMessage, error) {
	st := a.State()
	set, err := a.exported(ctx)
	if err != nil {
		return nil, err
	}
	models, err := a.library.Models(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := a.history.Runs(ctx, control.RunQuery{Limit: reportRuns})
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i] = withoutText(runs[i])
	}
	keys, err := a.keys.Keys(ctx)
	if err != nil {
		return nil, err
	}
	lines, _ := a.Log(0)
	b, err := json.MarshalIndent(control.Diagnosis{
		MadeAt: time.Now().UTC(), Version: a.opts.Version, Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Memory: home.Memory(),
		Engine: computesOn(a.thread), State: st, Settings: set, Keys: len(keys), Models: models,
		Runs: runs,
		Log:  lines[max(0, len(lines)-reportLines):],
	}, "", "  ")
	return a.withoutHome(wire.ClipErrors(b)), err
}

// withoutText drops the tokens that the row of a run names. It drops a verdict that cannot be read,
// since that may name tokens too.
func withoutText(r control.Run) control.Run {
	v, err := control.VerdictOf(r)
	r.Divergence, r.Verdict = nil, nil
	if err != nil || v == nil {
		return r
	}
	v.Forget()
	if b, err := json.Marshal(v); err == nil {
		r.Verdict = b
	}
	return r
}

// withoutHome writes ~ for the user's folder, since its name is often the user's.
func (a *App) withoutHome(b []byte) []byte {
	home := strings.TrimRight(a.opts.UserHome, "/")
	if home == "" {
		return b
	}
	quoted, err := json.Marshal(home)
	if err != nil {
		return b
	}
	return bytes.ReplaceAll(b, quoted[1:len(quoted)-1], []byte("~"))
}

// exported returns the settings without secrets.
func (a *App) exported(ctx context.Context) (control.SettingsState, error) {
	set, err := a.Settings(ctx)
	set.Settings = set.Settings.WithoutSecrets()
	return set, err
}

// SaveReport implements server.Help.
func (a *App) SaveReport(ctx context.Context) (control.Saved, error) {
	b, err := a.Report(ctx)
	if err != nil {
		return control.Saved{}, err
	}
	return a.save("tandem-report-"+time.Now().Format(time.DateOnly), b)
}

// ExportSettings implements server.Help.
func (a *App) ExportSettings(ctx context.Context) (control.Saved, error) {
	set, err := a.exported(ctx)
	if err != nil {
		return control.Saved{}, err
	}
	b, err := json.MarshalIndent(set.Settings, "", "  ")
	if err != nil {
		return control.Saved{}, err
	}
	return a.save("tandem-settings", b)
}

// save writes a file for the user into the folder of downloads, under a free name.
func (a *App) save(name string, b []byte) (control.Saved, error) {
	const most = 1000 // names that are tried
	dir := cmp.Or(a.opts.UserHome, a.home.Dir)
	if downloads := filepath.Join(dir, "Downloads"); disk.IsDir(downloads) {
		dir = downloads
	}
	for n := 1; n <= most; n++ {
		path := filepath.Join(dir, name+".json")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.json", name, n))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(append(b, '\n'))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return control.Saved{}, &control.Error{Code: control.CodeFolder, Err: err,
				Message: fmt.Sprintf("%s cannot be written: %v.", path, err)}
		}
		return control.Saved{Path: path}, nil
	}
	return control.Saved{}, control.Errorf(control.CodeFolder,
		"%s has %d files called %s already; move some away.", dir, most, name)
}
