package app

import (
	"context"
	"encoding/json"

	"tandem/app/control"
	"tandem/app/endpoint"
)

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
