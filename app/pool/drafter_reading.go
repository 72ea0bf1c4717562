package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// reading returns how a drafter's checkpoint was found to be read best for a
// model, and by which measurements: none if they are to be made.
func (p *Pool) reading(ctx context.Context, row storage.Model, source string) (set models.DrafterSettings, trials []control.Trial, err error) {
	read, err := p.db.Reading(ctx, row.ID, WeightsKey(source))
	if storage.IsNotFound(err) {
		return set, nil, nil
	}
	if err != nil {
		return set, nil, err
	}
	if err := errors.Join(json.Unmarshal(read.Settings, &set), json.Unmarshal(read.Trials, &trials)); err != nil {
		p.log.Warn("how a drafter is read is measured again", "model", row.ID, "drafter", source, "error", err)
		return models.DrafterSettings{}, nil, nil
	}
	return set, trials, nil
}

// keepReading stores what reading returns.
func (p *Pool) keepReading(ctx context.Context, row storage.Model, source string, set models.DrafterSettings, trials []control.Trial) error {
	settings, err := json.Marshal(set)
	if err != nil {
		return err
	}
	figures, err := json.Marshal(trials)
	if err != nil {
		return err
	}
	return p.db.SetReading(ctx, storage.Reading{Model: row.ID, Drafter: WeightsKey(source), Settings: settings, Trials: figures})
}

// WeightsKey is the folder of a drafter, or of a model, with the date of its weights: of
// another training in the same folder everything is measured anew, and what was loaded
// is not what lies there now.
func WeightsKey(source string) string {
	for _, file := range []string{"model.safetensors", "model.safetensors.index.json"} {
		if info, err := os.Stat(filepath.Join(source, file)); err == nil {
			return fmt.Sprintf("%s %d", source, info.ModTime().UnixNano())
		}
	}
	return source // built in
}
