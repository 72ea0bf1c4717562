package models

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tandem/models/nn"
	"tandem/models/pocket"
)

// A Footprint is what a model takes of memory, as far as its files tell before
// it is loaded.
type Footprint struct {
	Packed        int64 // bytes of weights that stay as they are stored: integers, packed ones among them
	Floats        int64 // bytes of the others as stored
	Elements      int64 // of the others
	ContextLength int   // positions the model was made for; 0 where config.json is silent

	layers []nn.Kept
}

// ringSlack is by how many rows the buffer of a sliding layer exceeds its
// window: see engine/cache.
const ringSlack = 511

// Measure reads the headers of the model in a folder, the pocket model's for an
// empty one. Errors are of type *Error.
func Measure(dir string) (Footprint, error) {
	fsys, opts := fs.FS(pocket.Files()), Options{Name: PocketID}
	if dir != "" {
		opts.Name = filepath.Clean(dir)
		if err := checkFolder(dir); err != nil {
			return Footprint{}, named(err, opts)
		}
		fsys = os.DirFS(dir)
	}
	f, err := measure(fsys)
	if err != nil {
		return Footprint{}, named(err, opts)
	}
	return f, nil
}

func measure(fsys fs.FS) (Footprint, error) {
	text, cfg, err := readConfig(fsys)
	if err != nil {
		return Footprint{}, err
	}
	arch := architectures[cfg.ModelType]
	f := Footprint{ContextLength: contextLength(text)}
	if f.layers, err = arch.layers(text); err != nil {
		return f, err
	}
	names, err := arch.names(text)
	if err != nil {
		return f, err
	}
	return f, f.addWeights(fsys, names)
}

// addWeights adds the tensors that are loaded.
func (f *Footprint) addWeights(fsys fs.FS, names func(name string) (to string, keep bool)) error {
	c, err := openCheckpoint(context.Background(), fsys, nil)
	if err != nil {
		return err
	}
	defer c.close()
	for _, name := range c.Names() {
		if _, keep := names(name); !keep {
			continue
		}
		info, _ := c.Info(name)
		if strings.HasPrefix(info.Dtype, "F") || strings.HasPrefix(info.Dtype, "BF") {
			f.Floats += info.Bytes
			f.Elements += info.Size()
		} else {
			f.Packed += info.Bytes
		}
	}
	return nil
}

// MeasureDrafter returns the bytes of the weights of the drafter in a folder as
// stored. Errors are of type *Error.
func MeasureDrafter(dir string) (int64, error) {
	c, err := openCheckpoint(context.Background(), os.DirFS(dir), nil)
	if err != nil {
		return 0, named(err, Options{Name: filepath.Clean(dir)})
	}
	defer c.close()
	return c.bytes, nil
}

// Weights returns the bytes of the weights in memory; wide says that floating
// ones are float32 there.
func (f Footprint) Weights(wide bool) int64 {
	if wide {
		return f.Packed + 4*f.Elements
	}
	return f.Packed + f.Floats
}

// Text returns the bytes of a text of so many tokens in memory; wide says that
// the model computes in float32, otherwise in a type of 16 bits.
func (f Footprint) Text(tokens int, wide bool) int64 {
	element := int64(2)
	if wide {
		element = 4
	}
	var n int64
	for _, l := range f.layers {
		rows := tokens
		if l.Window > 0 {
			rows = min(rows, l.Window+ringSlack)
		}
		n += int64(rows)*int64(l.Row)*element + 4*int64(l.State)
	}
	return n
}
