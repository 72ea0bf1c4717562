package pool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// readingKey returns the key of how a drafter is read. It tells the drafter, and the form of the
// model's keys and values: the drafter reads other layers' outputs in each.
func (p *Pool) readingKey(row storage.Model, source string, f formSetting) string {
	fTheta := ""
	if f.layout == control.KVBounded {
		fTheta, _ = p.findFTheta(row, source) // without one the load fails, and says so
	}
	return joinWords(p.drafterKey(source, f), f.learned(fTheta))
}

// drafterKey returns a key that differs between drafters whose guesses or context rows differ. It
// tells the weights, the bits that they are packed in, and the rows of context that they read. A
// built-in drafter is known by a hash of its weights: another build may have others by its name.
func (p *Pool) drafterKey(source string, f formSetting) string {
	weights, bits, window := "", "", ""
	if models.IsBuiltInDrafter(source) {
		weights = joinWords(source, p.builtInHash(source))
	} else {
		weights = weightsKey(source)
	}
	if f.drafterBits > 0 {
		bits = fmt.Sprintf("bits %d", f.drafterBits)
	}
	if f.draftWindow > 0 {
		window = fmt.Sprintf("window %d", f.draftWindow)
	}
	return joinWords(weights, bits, window)
}

// builtInHash returns a hash of a built-in drafter's weights, read once: they take up to 24 MB.
func (p *Pool) builtInHash(name string) string {
	hash, err := p.builtIn.get(name, name, func() (string, error) {
		h := sha256.New()
		err := models.CopyDrafterWeights(h, name)
		return hex.EncodeToString(h.Sum(nil)[:16]), err
	})
	if err != nil {
		p.log.Warn("a built-in drafter cannot be read", "drafter", name, "error", err)
	}
	return hash
}

// reading returns how a drafter's checkpoint is read best for a model in a form, and the measurements
// that say so. Both are empty if nothing was measured.
func (p *Pool) reading(ctx context.Context, row storage.Model, source string,
	f formSetting) (set models.DrafterSettings, trials []control.Trial, err error) {
	read, err := p.db.Models.Reading(ctx, row.ID, p.readingKey(row, source, f))
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
	return m.pool.db.Models.SetReading(ctx, storage.Reading{Model: m.row.ID,
		Drafter:  m.pool.readingKey(m.row, source, m.formSetting),
		Settings: settings, Trials: figures})
}

// weightsKey returns the folder of a model or of a drafter, not of a built-in one, with the date of
// its weights: of the file, of the index, or of the newest shard. Other weights in the same folder
// have another key: their readings are measured again, and a model in memory is known to be older
// than its files.
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
		return source
	}
	return fmt.Sprintf("%s %d", source, newest.UnixNano())
}
