package server

import (
	"context"

	"tandem/app/control"
)

// Settings are the user's choices.
type Settings interface {
	// Settings returns the settings in force, and where each comes from.
	Settings(context.Context) (control.SettingsState, error)
	// ChangeSettings makes all of a change or none of it. The error is CodeInvalid with the name of
	// a field whose value is invalid or decided elsewhere.
	ChangeSettings(context.Context, control.SettingsChange) (control.SettingsState, error)
	// SetPort serves the endpoint at a port. 0 is the port that was asked for before. If another
	// program has the port, the error is CodePortTaken and the endpoint stays where it was.
	SetPort(ctx context.Context, port int) error
}

// settingsRoutes answer for Settings.
type settingsRoutes struct {
	Settings
	to      *controlRoutes
	newCode func() control.SessionCode
}

func addSettings(to *controlRoutes, of Settings, newCode func() control.SessionCode) {
	s := settingsRoutes{of, to, newCode}
	handle(to, control.GetSettings, ask(of.Settings))
	handle(to, control.ChangeSettings, s.change)
	handle(to, control.PutSettings, s.change)
	handle(to, control.SetPort, thenState(to, s.setPort))
}

// change answers with a link to the page if the change moved it.
func (s settingsRoutes) change(ctx context.Context,
	change control.SettingsChange) (control.SettingsState, error) {
	before := s.to.state().Address
	st, err := s.ChangeSettings(ctx, change)
	if err == nil && s.to.state().Address != before {
		st.Link = s.newCode().URL
	}
	return st, err
}

func (s settingsRoutes) setPort(ctx context.Context, q control.PortRequest) error {
	return s.SetPort(ctx, q.Port)
}
