package pool

import (
	"cmp"
	"context"
	"slices"

	"tandem/models"
	"tandem/storage"
)

// settingChoice names the setting that holds the id for which control.Alias stands.
const settingChoice = "model"

// Chosen returns the id that was chosen last. It is empty if none was, or if that model is no longer
// registered.
func Chosen(ctx context.Context, db *storage.DB) (id string, err error) {
	id, err = db.Setting(ctx, settingChoice)
	if err == nil {
		_, err = db.Models.Get(ctx, id)
	}
	if storage.IsNotFound(err) {
		return "", nil
	}
	return id, err
}

// LastChoice returns the id that was chosen last, or else that of firstChoice.
func LastChoice(ctx context.Context, db *storage.DB) (id string, err error) {
	if id, err = Chosen(ctx, db); id != "" || err != nil {
		return id, err
	}
	return firstChoice(ctx, db)
}

// firstChoice returns the id of the model that is served unless another is chosen: the starter
// model, or else the pocket model.
func firstChoice(ctx context.Context, db *storage.DB) (id string, err error) {
	id, err = StarterID(ctx, db)
	return cmp.Or(id, models.PocketID), err
}

// StarterID returns the id of the starter model, empty if it is not registered.
func StarterID(ctx context.Context, db *storage.DB) (id string, err error) {
	rows, err := db.Models.List(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(rows,
		func(r storage.Model) bool { return r.Source == storage.SourceStarter })
	if i < 0 {
		return "", nil
	}
	return rows[i].ID, nil
}
