package settings

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/models/hub"
	"tandem/storage"
	"tandem/storage/disk"
)

// TokenFile lies in the home folder and has the hub's token. Only its owner may read it.
const TokenFile = "hub-token"

// maxToken bounds the file, in bytes.
const maxToken = 64 << 10

// Options are the values that hold where the user has set none.
type Options struct {
	// Settings are the defaults. The zero value means control.DefaultSettings.
	Settings control.Settings
	// Overrides names the settings, and Hub's, that a flag or the environment decides. The user's
	// values do not count for these.
	Overrides map[string]control.Given
	// Hub says where models are downloaded from and to.
	Hub hub.Options
}

// A Store knows the settings in force, and what decides each of them. It is safe for use by several
// goroutines.
type Store struct {
	db          *storage.DB
	log         *slog.Logger
	home        *home.Home
	keys        *Keys
	hubDefaults hub.Options // without the user's values

	changing sync.Mutex // held during a change, from the check to the end

	mu        sync.RWMutex
	defaults  control.Settings                      // with the values of overrides
	overrides map[string]control.Given              // by flags and the environment
	stored    map[string]json.RawMessage            // the user's values, by name
	now       control.Settings                      // in force
	token     string                                // of the hub, as the user set it; empty = not set
	proxy     func(*http.Request) (*url.URL, error) // for the hub; nil = the system's
}

// Open reads the stored settings and the keys. A stored value that is invalid now counts as not
// set, because an older or a newer program may have stored it.
func Open(ctx context.Context, db *storage.DB, dir *home.Home, log *slog.Logger,
	o Options) (*Store, *Keys, error) {
	s := &Store{db: db, log: log, home: dir, hubDefaults: o.Hub, defaults: o.Settings, overrides: o.Overrides}
	if s.defaults.Port == 0 {
		s.defaults = control.DefaultSettings()
	}
	s.defaults.HubCache, s.defaults.HubEndpoint = o.Hub.CacheDir, o.Hub.Endpoint
	rows, err := db.Settings(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.stored = map[string]json.RawMessage{}
	for _, name := range control.SettingNames() {
		value, ok := rows[name]
		if !ok {
			continue
		}
		change := control.SettingsChange{name: json.RawMessage(value)}
		if _, err := s.defaults.With(change, s.defaults); err != nil {
			log.Warn("an invalid setting counts as not set", "setting", name, "error",
				err)
			continue
		}
		s.stored[name] = change[name]
	}
	b, err := disk.ReadFile(dir.Path(TokenFile), maxToken)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the hub's token cannot be read", "error", err)
	}
	s.token = strings.TrimSpace(string(b))
	s.compute()
	s.keys = &Keys{db: db, log: log, settings: s}
	s.keys.list, err = db.Keys(ctx)
	return s, s.keys, err
}

// Defaults returns the defaults, with what flags and the environment decide.
func (s *Store) Defaults() control.Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.defaults
}

// Override lets by decide a setting from now on, whatever the user's value is. set puts the value in.
func (s *Store) Override(name string, by control.Given, set func(defaults *control.Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set(&s.defaults)
	s.overrides = maps.Clone(s.overrides)
	if s.overrides == nil {
		s.overrides = map[string]control.Given{}
	}
	s.overrides[name] = by
	s.compute()
}

// compute finds the settings in force. The caller holds s.mu, or no other goroutine knows s.
func (s *Store) compute() {
	change := control.SettingsChange{}
	for name, value := range s.stored {
		if _, given := s.overrides[name]; !given {
			change[name] = value
		}
	}
	now, err := s.defaults.With(change, s.defaults)
	if err != nil {
		panic(err) // each was checked before
	}
	s.now, s.proxy = now, nil
	if u, err := url.Parse(now.HubProxy); err == nil && now.HubProxy != "" &&
		s.overrides["hub_proxy"] == (control.Given{}) {
		s.proxy = http.ProxyURL(u)
	}
}

// Overridden returns what decides a setting in place of the user. ok is false if nothing does.
func (s *Store) Overridden(name string) (by control.Given, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	by, ok = s.overrides[name]
	return by, ok
}

// Current returns the settings in force.
func (s *Store) Current() control.Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now
}

// Stored returns the settings as the user set them, whatever decides them now.
func (s *Store) Stored() control.Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	stored, err := s.defaults.With(s.stored, s.defaults)
	if err != nil {
		panic(err) // each was checked before
	}
	return stored
}

// Hub returns where models are downloaded from and to.
func (s *Store) Hub() hub.Options {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := s.hubDefaults
	o.Logger = s.log
	o.CacheDir, o.Endpoint = s.now.HubCache, s.now.HubEndpoint
	if s.token != "" && s.overrides[control.SettingHubToken] == (control.Given{}) {
		o.Token = s.token
	}
	if s.proxy != nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.DisableKeepAlives = s.proxy, true // idle connections would never close
		o.Client = &http.Client{Transport: t}
	}
	return o
}

// State returns the settings in force and what decides each. later names settings that take effect
// only after something else has happened.
func (s *Store) State(later map[string]control.Later) control.SettingsState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := control.SettingsState{Settings: s.now, HubToken: s.token != "" || s.hubDefaults.Token != ""}
	for _, name := range append(control.SettingNames(), control.SettingHubToken) {
		row := control.SettingState{Name: name, Source: control.FromDefault, Later: later[name]}
		_, set := s.stored[name]
		if given, ok := s.overrides[name]; ok {
			row.Source, row.By = given.Source, given.By
		} else if set || name == control.SettingHubToken && s.token != "" {
			row.Source = control.FromSetting
		}
		out.Sources = append(out.Sources, row)
	}
	return out
}
