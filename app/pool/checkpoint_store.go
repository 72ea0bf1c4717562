package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
	"tandem/storage/disk"
)

// CheckpointFolder is the folder of the checkpoint files in the home folder. Only the owner may
// read it, as with the database: the files hold the tokens of prompts.
const CheckpointFolder = "checkpoints"

// openStore opens the files of a model's checkpoints and returns their key. store is nil if files
// are not kept, or cannot be kept; the log says why.
func (p *Pool) openStore(m *Model, d *Drafter) (store *checkpoint.Store, key string) {
	if p.opts.NoCheckpoints {
		return nil, ""
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(p.home.Dir, &disk); err != nil {
		p.log.Warn("checkpoints end with the program: the free disk space is not known",
			"error", err)
		return nil, ""
	}
	key, err := p.checkpointKey(m)
	if err != nil {
		p.log.Warn("checkpoints end with the program: the model has no key", "error", err)
		return nil, ""
	}
	o := checkpoint.StoreOptions{
		Dir: p.home.Path(CheckpointFolder), Folder: &p.files, Key: key, PerDay: checkpointsADay,
		Logger: p.log,
		Budget: cmp.Or(p.settings.Current().CheckpointDisk, DiskShare(&disk)),
	}
	if d != nil {
		o.Context = weightsKey(d.source)
	}
	o.Index = checkpointIndex{p.db, m.row.ID}
	return checkpoint.NewStore(o), key
}

// checkpointKey returns a key that differs between any two models as they are in memory: by
// weights, by the form they are held in, by the type they compute in, by the bits and the layout of
// keys and values, by what restores these, by the device and version of MLX, and by
// models.Arithmetic.
func (p *Pool) checkpointKey(m *Model) (string, error) {
	return p.arithmeticKey(m, models.Arithmetic)
}

func (p *Pool) arithmeticKey(m *Model, arithmetic int) (string, error) {
	h, row, bundle := sha256.New(), m.row, m.bundle
	fmt.Fprintln(h, mlx.Version(), arithmetic, p.thread.GPU(), bundle.Info.Architecture,
		bundle.Info.Parameters, bundle.Info.Dtype)
	if bundle.Info.Unpacked {
		fmt.Fprintln(h, "unpacked")
	}
	if m.kvBits > 0 {
		fmt.Fprintln(h, "kv bits", m.kvBits)
	}
	if m.layout == control.KVFull {
		fmt.Fprintln(h, "every row")
	}
	if b := m.bounded; b != nil {
		c := b.files.Config
		fmt.Fprintln(h, "bounded", *c.SinkSize, *c.WindowSize, c.ExactLayers, c.Embedding,
			weightsKey(b.dir), weightsKey(m.drafter.source))
	}
	if row.Source == storage.SourcePocket {
		if err := models.CopyPocketWeights(h); err != nil {
			return "", err
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	if file := singleFile(row.Path); file != "" {
		fmt.Fprint(h, file)
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	entries, err := disk.ReadDir(row.Path, 0)
	if err != nil {
		return "", err
	}
	var files []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".safetensors" || e.Name() == models.QuantConfigFile {
			files = append(files, e.Name())
		}
	}
	for _, name := range append(files, "config.json") {
		info, err := disk.FS(row.Path).Stat(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
