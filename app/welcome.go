package app

import (
	"context"
	"strconv"
)

// settingWelcomed says whether a person has taken the first steps, or skipped them. The server
// keeps it, so that another browser does not ask again.
const settingWelcomed = "welcomed"

// openWelcome reads whether the first steps are still to be shown.
func (a *App) openWelcome(ctx context.Context) error {
	value, err := a.db.Setting(ctx, settingWelcomed)
	done, _ := strconv.ParseBool(value) // false if empty
	a.welcome = !done
	return err
}

// Welcomed implements server.Status.
func (a *App) Welcomed(ctx context.Context, done bool) error {
	err := a.db.SetSetting(context.WithoutCancel(ctx), settingWelcomed, strconv.FormatBool(done))
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.welcome = !done
	return nil
}
