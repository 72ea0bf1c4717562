package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// What checkpoints may take of the machine.
const (
	checkpointMemory = 8        // a part of the memory in so many
	checkpointDisk   = 10       // of what is free on disk, likewise
	mostCheckpoints  = 16 << 30 // bytes on disk, however much is free
	checkpointsADay  = 64 << 30 // bytes written: flash wears
)

// checkpointFolder is where the home folder has their files. They hold what
// prompts became, and their tokens: as with the database, only the owner may
// read them.
const checkpointFolder = "checkpoints"

// checkpointBytes returns what checkpoints may take of the memory, as of the next
// load. More than may be set now, as an older program or a machine with more
// memory let it be, counts as the most.
func (a *App) checkpointBytes() int64 {
	if a.opts.NoCheckpoints {
		return 0
	}
	all := a.memory()
	set := a.settings.Current().CheckpointMemory
	if all > 0 {
		set = min(set, mostCheckpointMemory(all))
	}
	return cmp.Or(set, all/checkpointMemory)
}

// openStore opens the files of a model's checkpoints, and returns the key they are
// kept by; nil if they are not to be
// kept, or cannot be, which is logged.
func (a *App) openStore(row storage.Model, bundle *models.Bundle, d *drafter) (store *checkpoint.Store, key string) {
	if a.opts.NoCheckpoints {
		return nil, ""
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(a.home.Dir, &disk); err != nil {
		a.log.Warn("checkpoints end with the program: what is free on disk is not known", "error", err)
		return nil, ""
	}
	key, err := a.checkpointKey(row, bundle)
	if err != nil {
		a.log.Warn("checkpoints end with the program: the model cannot be told from others", "error", err)
		return nil, ""
	}
	o := checkpoint.StoreOptions{
		Dir: a.home.Path(checkpointFolder), Folder: &a.files, Key: key, PerDay: checkpointsADay, Logger: a.log,
		Budget: cmp.Or(a.settings.Current().CheckpointDisk, diskShare(&disk)),
	}
	if d != nil {
		o.Context = weightsKey(d.source)
	}
	o.Index = checkpointIndex{a.db, row.ID}
	return checkpoint.NewStore(o), key
}

// checkpointKey tells a model as it is in memory from every other: by its
// weights, the type it computes in, and what it computes with.
func (a *App) checkpointKey(row storage.Model, bundle *models.Bundle) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, mlx.Version(), a.thread.GPU(), bundle.Info.Architecture, bundle.Info.Parameters, bundle.Info.Dtype)
	if row.Source == storage.SourcePocket {
		if err := models.CopyPocketWeights(h); err != nil {
			return "", err
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	files, err := filepath.Glob(filepath.Join(row.Path, "*.safetensors"))
	if err != nil {
		return "", err
	}
	for _, name := range append(files, filepath.Join(row.Path, "config.json")) {
		info, err := os.Stat(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(name), info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
