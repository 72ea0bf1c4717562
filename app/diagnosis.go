package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"tandem/app/control"
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
	set, err := a.exported(ctx)
	if err != nil {
		return nil, err
	}
	machine, err := a.Machine(ctx)
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
	keys, err := a.keys.Keys(ctx)
	if err != nil {
		return nil, err
	}
	lines, _ := a.Log(0)
	lines = lines[max(0, len(lines)-reportLines):]

	names := unknownNames{known: a.library.InCatalogue}
	for _, m := range models {
		names.here = append(names.here, m.ID)
	}
	set.Settings.AllowedHosts = leftOut(set.Settings.AllowedHosts)
	set.Settings.AllowedOrigins = leftOut(set.Settings.AllowedOrigins)
	set.Reached = leftOut(set.Reached)
	names.addHosts(set.Settings.HubEndpoint, set.Settings.HubProxy)
	state := a.State()
	for i := range state.Downloads {
		state.Downloads[i].ID = names.ofModel(state.Downloads[i].ID)
	}
	programs := map[string]string{}
	for i := range runs {
		runs[i] = withoutText(runs[i])
		runs[i].Client = programName(runs[i].Client, programs)
		runs[i].Model = names.ofModel(runs[i].Model)
	}
	for i := range lines {
		lines[i].Text = names.ofLine(lines[i].Text)
	}
	b, err := json.MarshalIndent(control.Diagnosis{
		MadeAt: time.Now().UTC(), Version: a.opts.Version, Go: runtime.Version(), Machine: machine,
		State: state, Settings: set, Keys: len(keys), Models: models, Runs: runs, Log: lines,
	}, "", "  ")
	return a.withoutUser(names.replace(wire.ClipErrors(b))), err
}

// leftOut returns a list of as many signs as it has names of machines.
func leftOut(list []string) []string { return slices.Repeat([]string{"…"}, len(list)) }

// programName returns what the report calls a client. The name of one that Tandem does not know may
// be a person's, as that of a key. Such clients are counted; counted has those so far.
func programName(client string, counted map[string]string) string {
	if name := control.KnownClient(client); name != "" || client == "" {
		return name
	}
	if counted[client] == "" {
		counted[client] = fmt.Sprintf("program %d", len(counted)+1)
	}
	return counted[client]
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

// withoutUser writes ~ for the user's folder, and leaves the user's name out of other paths: the name
// of the folder is often that of the user, and a disk's folder may have it too.
func (a *App) withoutUser(b []byte) []byte {
	home := strings.TrimRight(a.opts.UserHome, "/")
	if home == "" {
		return b
	}
	inJSON := func(s string) []byte {
		quoted, _ := json.Marshal(s) // a string always has JSON
		return quoted[1 : len(quoted)-1]
	}
	own := regexp.MustCompile(regexp.QuoteMeta(string(inJSON(home))) + `\b`)
	b = own.ReplaceAll(b, []byte("~"))
	user := regexp.MustCompile("/" + regexp.QuoteMeta(string(inJSON(filepath.Base(home)))) + `\b`)
	return user.ReplaceAll(b, []byte("/…"))
}

// exported returns the settings without secrets.
func (a *App) exported(ctx context.Context) (control.SettingsState, error) {
	set, err := a.Settings(ctx)
	set.Settings = set.Settings.WithoutSecrets()
	return set, err
}

// SaveReport implements server.Help.
func (a *App) SaveReport(_ context.Context, r control.SaveReport) (control.Saved, error) {
	if !json.Valid([]byte(r.Text)) {
		return control.Saved{}, &control.Error{Code: control.CodeInvalid, Param: "text",
			Message: "text must be a report, as GET /app/report returns it."}
	}
	return a.save("tandem-report-"+time.Now().Format(time.DateOnly), []byte(r.Text))
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
