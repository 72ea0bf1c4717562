package models

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"time"

	"tandem/engine/mlx"
	"tandem/models/gguf"
)

// lendEvery is how long weights are read before others get the thread. Answers go on in between,
// and a load still makes progress.
const lendEvery = 30 * time.Millisecond

// weightFiles holds the open files of weights. It implements nn.Source.
type weightFiles struct {
	*headers
	ctx      context.Context
	open     []fs.File
	from     map[*mlx.Tensors]*mlx.Tensors // open, by those of the headers
	exact    *mlx.Tensors                  // see LoadExact; nil for none
	loaded   int64
	lent     time.Time // when others last had the thread
	progress func(done, total int64)
}

// openWeightFiles opens the weights that headers describe. It refuses files that have changed since the
// headers were read. The caller closes it.
func openWeightFiles(ctx context.Context, fsys fs.FS, h *headers,
	progress func(done, total int64)) (*weightFiles, error) {
	c := &weightFiles{headers: h, ctx: ctx, from: map[*mlx.Tensors]*mlx.Tensors{}, progress: progress}
	for _, file := range h.files {
		f, info, err := openWeights(fsys, file.name)
		if err != nil {
			c.close()
			return nil, err
		}
		c.open = append(c.open, f)
		if info.Size() != file.size || !info.ModTime().Equal(file.changed) {
			c.close()
			return nil, errorf(CodeInvalid, "%s changed while it was read; try again", file.name)
		}
		c.from[file.tensors] = file.tensors.From(f.(io.ReaderAt))
	}
	if folder, ok := fsys.(*gguf.Folder); ok {
		if err := c.openExact(folder); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// openExact opens the weights of a GGUF file that are approximated where they are quantized.
func (c *weightFiles) openExact(folder *gguf.Folder) error {
	f, err := folder.OpenExact()
	if f == nil && err == nil {
		return nil
	}
	if err != nil {
		return errorf(CodeIncomplete, "can't open the weights: %w", err)
	}
	c.open = append(c.open, f)
	info, err := f.Stat()
	if err != nil {
		return errorf(CodeIncomplete, "can't open the weights: %w", err)
	}
	if c.exact, err = mlx.OpenTensors(f.(io.ReaderAt), info.Size()); err != nil {
		return errorf(CodeInvalid, "%w", err)
	}
	return nil
}

func (c *weightFiles) close() {
	for _, f := range c.open {
		f.Close()
	}
}

// Load implements nn.Source. Every lendEvery it lends the thread to others before it reads. It
// fails once the context is done. After a failure it reads nothing and reports no progress.
func (c *weightFiles) Load(s *mlx.Scope, name string) *mlx.Array {
	return c.load(s, c.from[c.tensors[name]], name)
}

// LoadExact returns a weight of a GGUF file that its tensor only comes near, for nn.Weights.
func (c *weightFiles) LoadExact(s *mlx.Scope, name string) (weight, scales, biases *mlx.Array) {
	module := strings.TrimSuffix(name, ".weight")
	return c.load(s, c.exact, name), c.load(s, c.exact, module+".scales"), c.load(s, c.exact, module+".biases")
}

// load reads a tensor of a file, which counts as that of the checkpoint in its place.
func (c *weightFiles) load(s *mlx.Scope, from *mlx.Tensors, name string) *mlx.Array {
	if time.Since(c.lent) >= lendEvery {
		s.Yield()
		c.lent = time.Now()
	}
	if err := c.ctx.Err(); err != nil {
		s.Fail(err)
	}
	a := from.Load(s, name)
	if s.Err() != nil {
		return a
	}
	info, _ := c.Info(name)
	c.loaded += info.Bytes
	if c.progress != nil {
		c.progress(c.loaded, c.bytes)
	}
	return a
}
