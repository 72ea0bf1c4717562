package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tandem/app/pool"
	"tandem/engine/lm"
	"tandem/engine/restore"
	"tandem/models"
)

// Bounded is the layout of a model whose layers keep a sink and a window of their own rows, unless an
// f_theta names them exact. Rows between are restored from the layers of the drafter by the f_theta.
const Bounded = "bounded"

// A BoundError says that the layers of a model cannot be bounded, and what to do.
type BoundError struct {
	id, advice string
	err        error
}

func (e *BoundError) Error() string {
	return fmt.Sprintf("the layers of %s cannot be bounded: %v. %s, or leave out --kv-layout bounded", e.id,
		e.err, e.advice)
}

func (e *BoundError) Unwrap() error { return e.err }

// RestoreBy returns the function that finds how the layers of a model are bounded, for app.Options. dir is
// the folder of the f_theta; empty = the one beside the drafter or the model. Errors are of type
// *BoundError.
func RestoreBy(dir string) func(id, path, drafter string) (*pool.Restoration, error) {
	return func(id, path, drafter string) (*pool.Restoration, error) {
		if drafter == "" {
			return nil, &BoundError{id, fmt.Sprintf("Set one with `tandem models drafter %s FOLDER`", id),
				errors.New("it has no drafter to restore rows from")}
		}
		b := &boundedLayers{drafter: drafter, dir: dir}
		r, err := b.restoration(path)
		if err != nil {
			return nil, b.refuse(id, err)
		}
		open := r.Open
		r.Open = func(ctx context.Context, m *models.Bundle, d *models.Drafter) (lm.Model, func() error, error) {
			served, free, err := open(ctx, m, d)
			if err != nil {
				err = b.refuse(id, err)
			}
			return served, free, err
		}
		return r, nil
	}
}

// boundedLayers are those of a model by an f_theta.
type boundedLayers struct {
	drafter string // its folder, or the name of a built-in one
	dir     string // of the f_theta
}

func (b *boundedLayers) refuse(id string, err error) error {
	return &BoundError{id, "Name an f_theta with --f-theta", err}
}

// restoration returns how a model in a folder is served, or the built-in one for "".
func (b *boundedLayers) restoration(path string) (*pool.Restoration, error) {
	if b.dir == "" {
		beside := []string{b.drafter, path}
		if models.IsGGUF(path) {
			beside[1] = filepath.Dir(path)
		}
		beside = slices.DeleteFunc(beside, // the name of a built-in drafter is no folder
			func(dir string) bool { return dir == "" || models.IsBuiltInDrafter(dir) })
		if b.dir = models.FindFTheta(beside...); b.dir == "" {
			return nil, fmt.Errorf("neither its drafter nor the model has a folder %s", models.FThetaFolder)
		}
	}
	c, err := models.ReadFTheta(b.dir)
	if err != nil {
		return nil, err
	}
	key, err := b.key()
	if err != nil {
		return nil, err
	}
	return &pool.Restoration{Layout: Bounded, Key: key, Open: b.open,
		Footprint: func(f models.Footprint) models.Footprint {
			f.Elements += c.Parameters()
			f.Floats += 2 * c.Parameters()
			return f.Bounded(c)
		}}, nil
}

// key returns what differs between the files of any two f_thetas and drafters. Their configs count
// whole: any field may decide what is restored, and an edited file can keep its date.
func (b *boundedLayers) key() (string, error) {
	h := sha256.New()
	configs := map[string]string{b.dir: models.FThetaConfigFile, b.drafter: "config.json"}
	for _, dir := range []string{b.dir, b.drafter} {
		if models.IsBuiltInDrafter(dir) {
			if err := models.CopyDrafterWeights(h, dir); err != nil {
				return "", err
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, configs[dir]))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %x\n", models.WeightsKey(dir), sha256.Sum256(text))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// open bounds the layers of a loaded model.
func (b *boundedLayers) open(ctx context.Context, m *models.Bundle,
	d *models.Drafter) (lm.Model, func() error, error) {
	f, err := models.LoadFTheta(ctx, m, d, b.dir, models.Options{})
	if err != nil {
		return nil, nil, err
	}
	c := f.Config
	bounded, err := restore.New(m.Model, restore.Options{
		Sink: *c.SinkSize, Window: *c.WindowSize, Exact: c.ExactLayers,
		Source: restore.FTheta(f.Stack, f.Projection),
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", m.Info.Architecture, err)
		return nil, nil, errors.Join(err, f.Close())
	}
	return bounded, f.Close, nil
}
