package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/models/hub"
)

// tokenFile lies in the home folder and has the hub's token, for its owner alone.
const tokenFile = "hub-token"

// settings are what is in force, and what decides it.
type settings struct {
	changing sync.Mutex // held by who changes them, from the check to the end

	mu    sync.RWMutex
	base  control.Settings                      // defaults, and what given names
	given map[string]control.Given              // by flags and the environment
	saved map[string]json.RawMessage            // as a person set them, by name
	now   control.Settings                      // in force
	token string                                // of the hub, as a person set it; empty = not
	proxy func(*http.Request) (*url.URL, error) // for the hub; nil = as the system says
}

// openSettings reads what is set. What an older or a newer program left that
// makes no sense now counts as not set.
func (a *App) openSettings(ctx context.Context) error {
	s := &a.settings
	s.base, s.given = a.opts.Settings, a.opts.Given
	if s.base.Port == 0 {
		s.base = control.DefaultSettings()
	}
	s.base.HubCache, s.base.HubEndpoint = a.opts.Hub.CacheDir, a.opts.Hub.Endpoint
	rows, err := a.db.Settings(ctx)
	if err != nil {
		return err
	}
	s.saved = map[string]json.RawMessage{}
	for _, name := range control.SettingNames() {
		value, ok := rows[name]
		if !ok {
			continue
		}
		change := control.SettingsChange{name: json.RawMessage(value)}
		if _, err := s.base.With(change, s.base); err != nil {
			a.log.Warn("a setting that makes no sense counts as not set", "setting", name, "error", err)
			continue
		}
		s.saved[name] = change[name]
	}
	b, err := os.ReadFile(a.home.Path(tokenFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.log.Warn("the hub's token cannot be read", "error", err)
	}
	s.token = strings.TrimSpace(string(b))
	s.settle()
	if err := a.checkBudgets(ctx, control.DefaultSettings(), s.base); err != nil { // what flags say
		a.log.Warn("checkpoints are given more than there is; they take what there is", "error", err)
	}
	return nil
}

// give has something else than a person decide a setting from now on.
func (s *settings) give(name string, by control.Given, set func(base *control.Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set(&s.base)
	s.given = maps.Clone(s.given)
	if s.given == nil {
		s.given = map[string]control.Given{}
	}
	s.given[name] = by
	s.settle()
}

// settle computes what is in force. The caller holds s.mu, or s alone.
func (s *settings) settle() {
	change := control.SettingsChange{}
	for name, value := range s.saved {
		if _, given := s.given[name]; !given {
			change[name] = value
		}
	}
	now, err := s.base.With(change, s.base)
	if err != nil {
		panic(err) // each was checked by itself
	}
	s.now, s.proxy = now, nil
	if u, err := url.Parse(now.HubProxy); err == nil && now.HubProxy != "" && s.given["hub_proxy"] == (control.Given{}) {
		s.proxy = http.ProxyURL(u)
	}
}

// givenBy returns what decides a setting beside a person.
func (s *settings) givenBy(name string) (control.Given, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	g, ok := s.given[name]
	return g, ok
}

// current returns the settings in force.
func (s *settings) current() control.Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now
}

// kept returns the settings as a person set them, whatever else decides them now.
func (s *settings) kept() control.Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept, err := s.base.With(s.saved, s.base)
	if err != nil {
		panic(err) // each was checked by itself
	}
	return kept
}

// hub returns where models are downloaded from and to.
func (a *App) hub() hub.Options {
	o, s := a.opts.Hub, &a.settings
	s.mu.RLock()
	defer s.mu.RUnlock()
	o.Logger = a.log
	o.CacheDir, o.Endpoint = s.now.HubCache, s.now.HubEndpoint
	if s.token != "" && s.given[control.SettingHubToken] == (control.Given{}) {
		o.Token = s.token
	}
	if s.proxy != nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.DisableKeepAlives = s.proxy, true // nobody is left to close them
		o.Client = &http.Client{Transport: t}
	}
	return o
}

// Settings implements server.Settings.
func (a *App) Settings(context.Context) (control.SettingsState, error) {
	s := &a.settings
	later, reached := a.settingsLater(), a.reached()
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := control.SettingsState{Settings: s.now, Automatic: a.automatic(), Reached: reached, HubToken: s.token != "" || a.opts.Hub.Token != ""}
	for _, name := range append(control.SettingNames(), control.SettingHubToken) {
		row := control.SettingState{Name: name, Source: control.FromDefault, Later: later[name]}
		_, set := s.saved[name]
		if given, ok := s.given[name]; ok {
			row.Source, row.By = given.Source, given.By
		} else if set || name == control.SettingHubToken && s.token != "" {
			row.Source = control.FromSetting
		}
		out.Sources = append(out.Sources, row)
	}
	return out, nil
}

// settingsLater names those whose values in force are not what works now.
func (a *App) settingsLater() map[string]control.Later {
	now := a.settings.current()
	later := map[string]control.Later{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.resident {
		if m.settings.CheckpointMemory != now.CheckpointMemory {
			later["checkpoint_memory"] = control.AtNextLoad
		}
		if m.settings.CheckpointDisk != now.CheckpointDisk {
			later["checkpoint_disk"] = control.AtNextLoad
		}
	}
	return later
}

// ChangeSettings implements server.Settings.
func (a *App) ChangeSettings(ctx context.Context, change control.SettingsChange) (control.SettingsState, error) {
	if err := a.changeSettings(context.WithoutCancel(ctx), change); err != nil { // a client that leaves does not leave half of it
		return control.SettingsState{}, err
	}
	return a.Settings(ctx)
}

func (a *App) changeSettings(ctx context.Context, change control.SettingsChange) error {
	s := &a.settings
	s.changing.Lock()
	defer s.changing.Unlock()
	a.keys.changing.Lock() // the last one must not go meanwhile
	defer a.keys.changing.Unlock()
	// Nobody else changes what is read here.
	token, changesToken, rest, err := splitToken(change)
	if err != nil {
		return err
	}
	for name := range change {
		if given, ok := s.given[name]; ok {
			return &control.Error{Code: control.CodeInvalid, Param: name, Message: fmt.Sprintf("%s is decided by %s while Tandem runs; start it without that to set it here.", name, given.By)}
		}
	}
	next, err := s.now.With(rest, s.base)
	if err != nil {
		return err
	}
	before := s.now
	if err := errors.Join(a.checkKeyed(before, next), checkFolders(s.base, before, next), a.checkBudgets(ctx, before, next)); err != nil {
		return err
	}
	rows := map[string]*string{}
	for name, value := range rest {
		rows[name] = nil
		if string(value) == "null" {
			continue
		}
		b, err := next.Value(name) // as it was understood
		if err != nil {
			return err
		}
		rows[name] = new(string(b))
	}
	// What can fail comes first, and is undone if something behind it does.
	var undo []func() error
	failed := func(err error) error {
		for _, u := range slices.Backward(undo) {
			err = errors.Join(err, u())
		}
		return err
	}
	if changesToken {
		text := token
		if text != "" {
			text += "\n"
		}
		back, err := home.Replace(a.home.Path(tokenFile), text, token != "")
		if err != nil {
			return failed(err)
		}
		undo = append(undo, back)
	}
	if next.StartHidden != before.StartHidden { // for the menu bar, see control.StartsHidden
		back, err := home.Replace(a.home.Path(control.HiddenFile), "", next.StartHidden)
		if err != nil {
			return failed(err)
		}
		undo = append(undo, back)
	}
	_, asks := rest["port"]
	if a.hasEndpoint() && (asks || next.Port != before.Port || next.Network != before.Network && a.networkMoves()) {
		if err := a.move(ctx, place{next.Port, next.Network}); err != nil {
			return failed(a.portError(err))
		}
		undo = append(undo, func() error { return a.move(ctx, place{before.Port, before.Network}) })
	}
	if err := a.db.ChangeSettings(ctx, rows); err != nil {
		return failed(err)
	}
	// It is done. What follows cannot fail, so that what is shown is what holds.
	s.mu.Lock()
	for name, value := range rows {
		delete(s.saved, name)
		if value != nil {
			s.saved[name] = json.RawMessage(*value)
		}
	}
	if changesToken {
		s.token = token
	}
	s.settle()
	now := s.now
	s.mu.Unlock()
	a.mu.Lock()
	if a.server != nil {
		a.server.SetRules(rules(now))
	}
	a.mu.Unlock()
	if now.KeepRequests != before.KeepRequests {
		a.sweepOnce(ctx)
	}
	if now.HubEndpoint != before.HubEndpoint || now.HubProxy != before.HubProxy {
		a.sizes.forget()
		a.refetchDownloads()
	}
	return nil
}

// checkKeyed refuses what asks for keys while there are none.
func (a *App) checkKeyed(before, next control.Settings) error {
	name := ""
	switch {
	case a.HasKeys():
	case next.Network && !before.Network:
		name = "network"
	case next.RequireKey && !before.RequireKey:
		name = "require_key"
	}
	if name == "" {
		return nil
	}
	return &control.Error{Code: control.CodeInvalid, Param: name, Message: name + " needs a key first, or no program could call: make one for each program."}
}

// splitToken takes the hub's token out of a change.
func splitToken(change control.SettingsChange) (token string, changes bool, rest control.SettingsChange, err error) {
	rest = control.SettingsChange{}
	for name, value := range change {
		if name != control.SettingHubToken {
			rest[name] = value
			continue
		}
		changes = true
		if err := json.Unmarshal(value, &token); err != nil || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) || len(token) > 1024 {
			return "", false, nil, &control.Error{Code: control.CodeInvalid, Param: name, Message: name + " must be a token as the hub shows it, one word, or empty for none."}
		}
	}
	return token, changes, rest, nil
}
