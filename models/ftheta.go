package models

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"tandem/engine/mlx"
	"tandem/models/dflash"
	"tandem/models/ftheta"
	"tandem/models/nn"
	"tandem/storage/disk"
)

// FThetaFolder is the name of the folder of an f_theta beside the files of its drafter, or of the
// model.
const FThetaFolder = "f_theta"

// FThetaConfigFile is the name of the config in that folder.
const FThetaConfigFile = ftheta.ConfigFile

// An FTheta restores the keys and values of a model from those of its drafter.
type FTheta struct {
	Config     *ftheta.Config
	Stack      *dflash.Stack // of the drafter, whose weights it shares
	Projection *ftheta.Model

	thread *mlx.Thread
}

// bounds are those of an f_theta.
type bounds struct{ *ftheta.Config }

// bounds reports whether a layer is bounded. cache is the number of its cache.
func (b *bounds) bounds(cache int, l nn.CacheSpec) bool {
	return b != nil && l.Row > 0 && !b.Exact(cache) && b.Bounds(l.Window).Divides()
}

// Bounded returns the footprint of the model with layers that are bounded as an f_theta says. A text
// then takes own rows and restored rows of them.
func (f Footprint) Bounded(c *ftheta.Config) Footprint {
	f.bounds = &bounds{c}
	return f
}

// FindFTheta returns the path of the folder of an f_theta below one of the folders, the first one
// first. It is empty if there is none.
func FindFTheta(folders ...string) string {
	for _, dir := range folders {
		path := filepath.Join(dir, FThetaFolder)
		if _, err := disk.Folder(path).Stat(ftheta.ConfigFile); dir != "" && err == nil {
			return path
		}
	}
	return ""
}

// ReadFTheta reads the config in the folder of an f_theta. Errors are of type *Error.
func ReadFTheta(dir string) (*ftheta.Config, error) {
	name := filepath.Clean(dir)
	fsys, err := openFTheta(dir)
	if err != nil {
		return nil, named(err, name)
	}
	c, err := readFTheta(fsys)
	if err != nil {
		return nil, named(err, name)
	}
	return c, nil
}

func openFTheta(dir string) (fs.FS, error) {
	if _, err := disk.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, errorf(CodeNotFound, "there is no such folder; name the folder of an f_theta")
	}
	return openPath(dir, inOllama(dir))
}

func readFTheta(fsys fs.FS) (*ftheta.Config, error) {
	text, err := readJSON(fsys, ftheta.ConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errorf(CodeIncomplete, "%s is missing; name the folder of an f_theta, which has that file",
			ftheta.ConfigFile)
	}
	if err != nil {
		return nil, err
	}
	return ftheta.ParseConfig(text)
}

// LoadFTheta loads the f_theta in a folder for a model and its drafter, which must outlive it. One
// whose sizes are those of another model or drafter is refused before its weights are read. Errors about
// the f_theta are of type *Error.
func LoadFTheta(ctx context.Context, target *Bundle, d *Drafter, dir string,
	opts Options) (*FTheta, error) {
	name := filepath.Clean(dir)
	fsys, err := openFTheta(dir)
	if err != nil {
		return nil, named(err, name)
	}
	f, err := loadFTheta(ctx, target, d, fsys, opts)
	if err != nil {
		return nil, named(err, name)
	}
	return f, nil
}

func loadFTheta(ctx context.Context, target *Bundle, d *Drafter, fsys fs.FS,
	opts Options) (*FTheta, error) {
	config, err := readFTheta(fsys)
	if err != nil {
		return nil, err
	}
	if d.Block == nil {
		return nil, errorf(CodeInvalid,
			"an f_theta reads the layers of a block network, and this drafter is none")
	}
	f := &FTheta{Config: config, thread: target.thread}
	if f.Stack, err = d.Block.Stack(dflash.Embedding(config.Embedding)); err != nil {
		return nil, err
	}
	m := target.Model.(*model)
	layers, row := f.Stack.Layers()
	if err := config.Pair(layers, row, m.layers, m.KVShapes()); err != nil {
		return nil, err
	}
	h, err := readHeaders(fsys)
	if err != nil {
		return nil, err
	}
	c, err := openWeightFiles(ctx, fsys, h, opts.Progress)
	if err != nil {
		return nil, err
	}
	defer c.close()
	dtype := m.Config().Dtype
	opts.Dtype = DtypeCheckpoint
	err = c.build(f.thread, nil, opts, func(w *nn.Weights) error {
		w.Dtype = dtype
		f.Projection = ftheta.New(w, config, m.KVShapes(), dtype)
		return w.Err()
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close releases the weights. The f_theta must not be in use.
func (f *FTheta) Close() error {
	return f.thread.Do(context.Background(), func(*mlx.Scope) error {
		f.Projection.Free()
		return nil
	})
}
