package pool

import (
	"context"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// settingChoice names the setting that holds the id for which control.Alias stands.
const settingChoice = "model"

// LastChoice returns the id that was chosen last, or else the pocket model's.
func LastChoice(ctx context.Context, db *storage.DB) (id string, err error) {
	id, err = db.Setting(ctx, settingChoice)
	if err == nil {
		_, err = db.Model(ctx, id)
	}
	if storage.IsNotFound(err) {
		return models.PocketID, nil
	}
	return id, err
}

// UseDrafter lets the choice draft with name while this process runs, whatever is set for it: with
// control.DrafterAuto, control.DrafterNone, a folder, or a drafter in the hub's cache. A drafter
// that cannot be loaded for the model is refused.
func (p *Pool) UseDrafter(ctx context.Context, name string) error {
	folder, err := p.drafterFolder(name)
	if err != nil {
		return err
	}
	row, err := p.db.Model(ctx, p.choice)
	if err != nil {
		return NotRegistered(err, p.choice)
	}
	if folder != control.DrafterAuto && folder != control.DrafterNone {
		if err := p.checkDrafter(ctx, row, folder); err != nil {
			return err
		}
	}
	p.drafter, p.drafterFor = folder, row.ID
	return nil
}

// Start makes a model the choice before anything else happens. Nothing is loaded.
func (p *Pool) Start(id string) { p.choice = id }
