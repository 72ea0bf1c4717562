package app

import (
	"context"
	"strconv"

	"tandem/storage"
)

// settingWelcomed says whether somebody has gone through the first steps, or past
// them. It is the server's to remember: not each browser asks again.
const settingWelcomed = "welcomed"

// openWelcome reads it.
func (a *App) openWelcome(ctx context.Context) error {
	value, err := a.db.Setting(ctx, settingWelcomed)
	if err != nil && !storage.IsNotFound(err) {
		return err
	}
	done, _ := strconv.ParseBool(value) // empty is not
	a.welcome = !done
	return nil
}

// Welcomed implements server.Status.
func (a *App) Welcomed(ctx context.Context, done bool) error {
	if err := a.db.SetSetting(context.WithoutCancel(ctx), settingWelcomed, strconv.FormatBool(done)); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.welcome = !done
	return nil
}
