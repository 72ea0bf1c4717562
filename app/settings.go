package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"tandem/app/control"
	"tandem/app/endpoint"
	"tandem/app/home"
	"tandem/app/settings"
)

// Settings implements server.Settings.
func (a *App) Settings(context.Context) (control.SettingsState, error) {
	out := a.settings.State(a.pool.SettingsLater())
	out.Automatic, out.Reached = a.automatic(), a.endpoint.Reached()
	return out, nil
}

// ChangeSettings implements server.Settings.
func (a *App) ChangeSettings(ctx context.Context,
	change control.SettingsChange) (control.SettingsState, error) {
	// A client that leaves does not cut the change in half.
	if err := a.changeSettings(context.WithoutCancel(ctx), change); err != nil {
		return control.SettingsState{}, err
	}
	return a.Settings(ctx)
}

// changeSettings makes the whole change or none of it. Steps that can fail come first. If a later step
// fails, they are undone.
func (a *App) changeSettings(ctx context.Context, change control.SettingsChange) error {
	c, err := a.settings.Begin(change)
	if err != nil {
		return err
	}
	defer c.End()
	if err := errors.Join(c.Check(), a.checkBudgets(ctx, c.Before, c.Next)); err != nil {
		return err
	}
	if err := c.Prepare(); err != nil {
		return err
	}
	var undo []func() error
	failed := func(err error) error {
		for _, u := range slices.Backward(undo) {
			err = errors.Join(err, u())
		}
		return err
	}
	back, err := c.WriteToken()
	if err != nil {
		return err
	}
	if back != nil {
		undo = append(undo, back)
	}
	before, next := c.Before, c.Next
	if next.StartHidden != before.StartHidden { // for the menu bar, see control.StartsHidden
		back, err := home.Replace(a.home.Path(control.HiddenFile), "", next.StartHidden)
		if err != nil {
			return failed(err)
		}
		undo = append(undo, back)
	}
	from := endpoint.Binding{Port: before.Port, Network: before.Network}
	to := endpoint.Binding{Port: next.Port, Network: next.Network}
	moves := c.Asks("port") || to.Port != from.Port ||
		to.Network != from.Network && a.endpoint.MovesWithNetwork()
	address := a.endpoint.Address()
	if a.endpoint.HasTCP() && moves {
		if err := a.endpoint.Move(ctx, to); err != nil {
			return failed(a.endpoint.MoveError(err))
		}
		undo = append(undo, func() error { return a.endpoint.Move(ctx, from) })
	}
	now, err := c.Commit(ctx)
	if err != nil {
		return failed(err)
	}
	a.follow(ctx, before, now)
	if at := a.endpoint.Address(); at != address {
		a.mu.Lock()
		moved := a.moved
		a.mu.Unlock()
		if moved != nil && at != "" {
			moved(at)
		}
	}
	return nil
}

// follow tells the rooms of changed settings. It cannot fail, so the settings that a client reads are
// the ones that hold.
func (a *App) follow(ctx context.Context, before, now control.Settings) {
	a.mu.Lock()
	if a.server != nil {
		a.server.SetRules(rules(now))
	}
	a.mu.Unlock()
	if now.KeepRequests != before.KeepRequests {
		a.history.SweepOnce(ctx)
	}
	if before.PutBackThoughts && !now.PutBackThoughts {
		a.history.DropThoughts(ctx)
	}
	if now.HubEndpoint != before.HubEndpoint || now.HubProxy != before.HubProxy {
		a.library.Refetch(ctx)
	}
}

// openSettings reads the settings and the keys.
func (a *App) openSettings(ctx context.Context) (err error) {
	a.settings, a.keys, err = settings.Open(ctx, a.db, a.home, a.log, settings.Options{
		Settings: a.opts.Settings, Overrides: a.opts.Overrides, Hub: a.opts.Hub,
	})
	return err
}

// keepPort puts the port that was opened into the settings, if a flag asked for any port. Requests
// are served by then, so it excludes other changes.
func (a *App) keepPort(asked int) {
	a.settings.Exclusively(func() error { // it returns no error
		given, ok := a.settings.Overridden("port")
		if ok && asked == 0 && a.endpoint.Address() != "" {
			port := a.endpoint.Binding().Port
			a.settings.Override("port", given, func(s *control.Settings) { s.Port = port })
		}
		return nil
	})
}

// SetPort implements server.Settings. It sets the port; 0 opens the present one again. If a flag
// decides the port, the new one holds until the program ends.
func (a *App) SetPort(ctx context.Context, port int) error {
	var change control.SettingsChange // of the setting, if no flag decides it
	err := a.settings.Exclusively(func() error {
		now := a.settings.Current()
		given, byFlag := a.settings.Overridden("port")
		if port == 0 {
			port = now.Port
		}
		if port != now.Port {
			b, err := json.Marshal(port)
			if err != nil {
				return err
			}
			asked := control.SettingsChange{"port": b}
			if _, err := now.With(asked, now); err != nil {
				return err
			}
			if !byFlag {
				change = asked
				return nil
			}
		}
		if !a.endpoint.HasTCP() {
			return errNoEndpoint
		}
		to := endpoint.Binding{Port: port, Network: now.Network}
		if err := a.endpoint.Move(ctx, to); err != nil {
			return a.endpoint.MoveError(err)
		}
		if byFlag {
			a.settings.Override("port", given, func(s *control.Settings) { s.Port = port })
		}
		return nil
	})
	if err != nil || change == nil {
		return err
	}
	_, err = a.ChangeSettings(ctx, change)
	return err
}

// errNoEndpoint is the error of a process that serves the socket alone.
var errNoEndpoint = control.Errorf(control.CodeInvalid,
	"This Tandem was started for one command and has no endpoint; start Tandem itself first.")
