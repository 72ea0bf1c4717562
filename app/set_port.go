package app

import (
	"context"
	"encoding/json"

	"tandem/app/control"
	"tandem/app/endpoint"
)

// keepPort puts the port that was opened into the settings, if a flag asked for any port. Requests
// are served by then, so it excludes other changes.
func (a *App) keepPort(asked int) error {
	return a.settings.Exclusively(func() error {
		given, ok := a.settings.Given("port")
		if !ok || asked != 0 || a.endpoint.Address() == "" {
			return nil
		}
		port := a.endpoint.Place().Port
		a.settings.Give("port", given, func(s *control.Settings) { s.Port = port })
		return nil
	})
}

// SetPort implements server.Settings. It sets the port. If a flag decides the port, the new one holds
// until the program ends.
func (a *App) SetPort(ctx context.Context, port int) error {
	now := a.settings.Current()
	if port == 0 {
		port = now.Port
	}
	b, err := json.Marshal(port)
	if err != nil {
		return err
	}
	change := control.SettingsChange{"port": b}
	if _, err := now.With(change, now); err != nil && port != now.Port {
		return err
	}
	given, byFlag := a.settings.Given("port")
	if !byFlag && port != now.Port {
		_, err := a.ChangeSettings(ctx, change)
		return err
	}
	return a.settings.Exclusively(func() error {
		if !a.endpoint.HasTCP() {
			return errNoEndpoint
		}
		to := endpoint.Place{Port: port, Network: a.settings.Current().Network}
		if err := a.endpoint.Move(ctx, to); err != nil {
			return a.endpoint.MoveError(err)
		}
		if byFlag {
			a.settings.Give("port", given, func(s *control.Settings) { s.Port = port })
		}
		return nil
	})
}

// errNoEndpoint is the error of a process that serves the socket alone.
var errNoEndpoint = control.Errorf(control.CodeInvalid,
	"This Tandem serves one command and no endpoint; run `tandem serve`.")
