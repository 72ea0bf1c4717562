package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
	"tandem/storage/disk"
)

// readingKey returns the key of how a drafter is read. It tells the drafter's weights, and the form of
// the model's keys and values: the drafter reads other layers' outputs in each.
func (p *Pool) readingKey(row storage.Model, source string, f formSetting) string {
	fTheta := ""
	if f.layout == control.KVBounded {
		fTheta, _ = p.findFTheta(row, source) // without one the load fails, and says so
	}
	return joinWords(weightsKey(source), f.learned(fTheta))
}

// reading returns how a drafter's checkpoint is read best for a model in a form, and the measurements
// that say so. Both are empty if nothing was measured.
func (p *Pool) reading(ctx context.Context, row storage.Model, source string,
	f formSetting) (set models.DrafterSettings, trials []control.Trial, err error) {
	read, err := p.db.Reading(ctx, row.ID, p.readingKey(row, source, f))
	if storage.IsNotFound(err) {
		return set, nil, nil
	}
	if err != nil {
		return set, nil, err
	}
	if err := errors.Join(json.Unmarshal(read.Settings, &set),
		json.Unmarshal(read.Trials, &trials)); err != nil {
		p.log.Warn("the reading of a drafter is measured again", "model", row.ID, "drafter", source,
			"error", err)
		return models.DrafterSettings{}, nil, nil
	}
	return set, trials, nil
}

// keepReading stores what reading returns.
func (m *Model) keepReading(ctx context.Context, source string, set models.DrafterSettings,
	trials []control.Trial) error {
	settings, err := json.Marshal(set)
	if err != nil {
		return err
	}
	figures, err := json.Marshal(trials)
	if err != nil {
		return err
	}
	return m.pool.db.SetReading(ctx, storage.Reading{Model: m.row.ID,
		Drafter:  m.pool.readingKey(m.row, source, m.formSetting),
		Settings: settings, Trials: figures})
}

// weightsKey returns the folder of a model or of a drafter with the date of its weights: of the
// file, of the index, or of the newest shard. Other weights in the same folder have another key:
// their readings are measured again, and a model in memory is known to be older than its files.
func weightsKey(source string) string {
	if file := singleFile(source); file != "" {
		return source + " " + file
	}
	for _, file := range []string{"model.safetensors", "model.safetensors.index.json"} {
		if info, err := disk.FS(source).Stat(file); err == nil {
			return fmt.Sprintf("%s %d", source, info.ModTime().UnixNano())
		}
	}
	var newest time.Time
	folder := disk.FS(source)
	shards, _ := fs.Glob(folder, "*.safetensors") // only a bad pattern is an error
	for _, shard := range shards {
		if info, err := folder.Stat(shard); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if newest.IsZero() {
		return source // built in
	}
	return fmt.Sprintf("%s %d", source, newest.UnixNano())
}
