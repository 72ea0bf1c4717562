package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tandem/app/control"
	"tandem/app/home"
)

// A Change is a change of settings in progress. There is one at a time, and no key comes or goes
// until End. Nothing takes effect before Commit.
type Change struct {
	Before, Next control.Settings

	store        *Store
	asked        control.SettingsChange // without the hub's token
	rows         map[string]*string     // for the database; nil = not set any more
	token        string                 // of the hub
	changesToken bool
}

// Begin starts a change. It refuses a value that is invalid, or that a flag or the environment
// decides. The caller calls End once, unless there is an error.
func (s *Store) Begin(change control.SettingsChange) (_ *Change, err error) {
	s.changing.Lock()
	s.keys.changing.Lock() // the last key must not be deleted meanwhile
	c := &Change{store: s, Before: s.now, rows: map[string]*string{}}
	defer func() {
		if err != nil {
			c.End()
		}
	}()
	// The values read here are written only by a change.
	if c.token, c.changesToken, c.asked, err = splitToken(change); err != nil {
		return nil, err
	}
	for name := range change {
		if given, ok := s.overrides[name]; ok {
			return nil, &control.Error{
				Code: control.CodeInvalid, Param: name,
				Message: fmt.Sprintf("%s was set with %s. Restart Tandem without it to change %[1]s here.",
					name, given.By),
			}
		}
	}
	c.Next, err = s.now.With(c.asked, s.defaults)
	return c, err
}

// End lets the next change begin.
func (c *Change) End() {
	c.store.keys.changing.Unlock()
	c.store.changing.Unlock()
}

// Asks reports whether the change names a setting, with a new value or not.
func (c *Change) Asks(name string) bool {
	_, ok := c.asked[name]
	return ok
}

// Check refuses settings that need keys while there are none, and folders that cannot work.
func (c *Change) Check() error {
	return errors.Join(c.checkKeyed(), checkFolders(c.store.defaults, c.Before, c.Next))
}

func (c *Change) checkKeyed() error {
	name := ""
	switch {
	case c.store.keys.HasKeys():
	case c.Next.Network && !c.Before.Network:
		name = "network"
	case c.Next.RequireKey && !c.Before.RequireKey:
		name = "require_key"
	}
	if name == "" {
		return nil
	}
	return &control.Error{Code: control.CodeInvalid, Param: name,
		Message: name + " needs a key first, or no program could call: make one for each program."}
}

// Prepare makes the rows to store. Each value is stored in its parsed form.
func (c *Change) Prepare() error {
	for name, value := range c.asked {
		c.rows[name] = nil
		if string(value) == "null" {
			continue
		}
		b, err := c.Next.Value(name)
		if err != nil {
			return err
		}
		c.rows[name] = new(string(b))
	}
	return nil
}

// WriteToken writes the hub's token into its file. undo restores the file; it is nil if the change
// does not name the token.
func (c *Change) WriteToken() (undo func() error, err error) {
	if !c.changesToken {
		return nil, nil
	}
	text := c.token
	if text != "" {
		text += "\n"
	}
	return home.Replace(c.store.home.Path(TokenFile), text, c.token != "")
}

// Commit stores the change and returns the settings in force. After an error nothing is changed.
func (c *Change) Commit(ctx context.Context) (control.Settings, error) {
	s := c.store
	if err := s.db.ChangeSettings(ctx, c.rows); err != nil {
		return s.now, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, value := range c.rows {
		delete(s.stored, name)
		if value != nil {
			s.stored[name] = json.RawMessage(*value)
		}
	}
	if c.changesToken {
		s.token = c.token
	}
	s.compute()
	return s.now, nil
}

// Exclusively calls f while no change is in progress.
func (s *Store) Exclusively(f func() error) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return f()
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
		if err := json.Unmarshal(value, &token); err != nil ||
			strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) ||
			len(token) > 1024 {
			return "", false, nil, &control.Error{
				Code: control.CodeInvalid, Param: name,
				Message: name +
					" must be a token as the hub shows it, one word, or empty for none.",
			}
		}
	}
	return token, changes, rest, nil
}
