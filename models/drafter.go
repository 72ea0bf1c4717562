package models

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/engine/mlx"
	"tandem/models/dflash"
	"tandem/models/nn"
)

// DrafterSettings choose between readings of a drafter's checkpoint.
type DrafterSettings = dflash.Settings

// A Drafter is a loaded drafter of one model.
type Drafter struct {
	Block *dflash.Model
	Info  Info // ContextLength is zero: its positions are the model's

	thread *mlx.Thread
}

// LoadDrafter loads the DFlash drafter in a folder for a target on the same
// thread, which must outlive it. A drafter made for another model is refused
// before its weights are read. Errors about the drafter are of type *Error.
func LoadDrafter(ctx context.Context, target *Bundle, dir string, settings DrafterSettings, opts Options) (*Drafter, error) {
	if opts.Name == "" {
		opts.Name = filepath.Clean(dir)
	}
	if err := checkFolder(dir); err != nil {
		return nil, named(err, opts)
	}
	return LoadDrafterFS(ctx, target, os.DirFS(dir), settings, opts)
}

// LoadDrafterFS loads the drafter at the root of a file system, as LoadFS does.
func LoadDrafterFS(ctx context.Context, target *Bundle, fsys fs.FS, settings DrafterSettings, opts Options) (*Drafter, error) {
	d, err := loadDrafter(ctx, target, fsys, settings, opts)
	if err != nil {
		return nil, named(err, opts)
	}
	return d, nil
}

func loadDrafter(ctx context.Context, target *Bundle, fsys fs.FS, settings DrafterSettings, opts Options) (*Drafter, error) {
	text, cfg, err := readAnyConfig(fsys)
	if err != nil {
		return nil, err
	}
	if err := dflash.Pair(text, target.Model.Config()); err != nil {
		return nil, err
	}
	c, err := openCheckpoint(ctx, fsys, opts.Progress)
	if err != nil {
		return nil, err
	}
	defer c.close()
	d := &Drafter{thread: target.thread}
	err = c.build(d.thread, cfg.Quantization, opts, func(w *nn.Weights) error {
		m, err := dflash.New(w, text, target.Model.(*model), settings)
		if err == nil {
			err = w.Err()
		}
		if err != nil {
			return err
		}
		d.Block = m
		d.Info = Info{
			Architecture: dflash.Architecture,
			Parameters:   w.Parameters(),
			FileBytes:    c.bytes,
			Bytes:        w.Bytes(),
			Quantization: w.Packing(),
			Dtype:        m.Dtype(),
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Close releases the weights. The drafter must not be in use.
func (d *Drafter) Close() error {
	return d.thread.Do(context.Background(), func(*mlx.Scope) error {
		d.Block.Free()
		return nil
	})
}
