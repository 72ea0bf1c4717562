package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// What checkpoints may take of the machine unless a setting says otherwise.
const (
	CheckpointMemory = 8        // 1/CheckpointMemory of the memory
	checkpointDisk   = 10       // 1/checkpointDisk of the free disk
	MostCheckpoints  = 16 << 30 // bytes on disk at most
	checkpointsADay  = 64 << 30 // bytes written a day at most, since flash wears
)

// CheckpointFolder is the folder of the checkpoint files in the home folder. Only the owner may
// read it, as with the database: the files hold the tokens of prompts.
const CheckpointFolder = "checkpoints"

// CheckpointBytes returns how much memory checkpoints may take from the next load on, in bytes. A
// setting above MostCheckpointMemory counts as that: an older program or a machine with more memory
// may have stored it.
func (p *Pool) CheckpointBytes() int64 {
	if p.opts.NoCheckpoints {
		return 0
	}
	all := p.MachineMemory()
	set := p.settings.Current().CheckpointMemory
	if all > 0 {
		set = min(set, MostCheckpointMemory(all))
	}
	return cmp.Or(set, all/CheckpointMemory)
}

// openStore opens the files of a model's checkpoints and returns their key. store is nil if files
// are not kept, or cannot be kept; the log says why.
func (p *Pool) openStore(row storage.Model, bundle *models.Bundle,
	d *Drafter) (store *checkpoint.Store, key string) {
	if p.opts.NoCheckpoints {
		return nil, ""
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(p.home.Dir, &disk); err != nil {
		p.log.Warn("checkpoints end with the program: the free disk space is not known",
			"error", err)
		return nil, ""
	}
	key, err := p.checkpointKey(row, bundle)
	if err != nil {
		p.log.Warn("checkpoints end with the program: the model has no key", "error", err)
		return nil, ""
	}
	o := checkpoint.StoreOptions{
		Dir: p.home.Path(CheckpointFolder), Folder: &p.files, Key: key, PerDay: checkpointsADay, Logger: p.log,
		Budget: cmp.Or(p.settings.Current().CheckpointDisk, DiskShare(&disk)),
	}
	if d != nil {
		o.Context = WeightsKey(d.source)
	}
	o.Index = checkpointIndex{p.db, row.ID}
	return checkpoint.NewStore(o), key
}

// checkpointKey returns a key that differs between any two models as they are in memory: by
// weights, by the type they compute in, and by the device and version of MLX.
func (p *Pool) checkpointKey(row storage.Model, bundle *models.Bundle) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, mlx.Version(), p.thread.GPU(), bundle.Info.Architecture, bundle.Info.Parameters,
		bundle.Info.Dtype)
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

// MostCheckpointMemory returns how much of a machine's memory may be set for checkpoints, in bytes:
// half of what models may take, so that a model still fits, or the default if that is more.
func MostCheckpointMemory(memory int64) int64 {
	return max(roomFor(memory)/2, memory/CheckpointMemory)
}

// DiskShare returns how much of a disk checkpoints take at most where nothing is set, in bytes.
func DiskShare(disk *unix.Statfs_t) int64 {
	return min(int64(disk.Bavail)*int64(disk.Bsize)/checkpointDisk, MostCheckpoints)
}

// AutomaticCheckpointMemory returns how much memory checkpoints take where nothing is set, in
// bytes.
func (p *Pool) AutomaticCheckpointMemory() int64 { return p.MachineMemory() / CheckpointMemory }

// SettingsLater returns the settings whose new values work only after the next load.
func (p *Pool) SettingsLater() map[string]control.Later {
	now := p.settings.Current()
	later := map[string]control.Later{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.resident {
		if m.settings.CheckpointMemory != now.CheckpointMemory {
			later["checkpoint_memory"] = control.AtNextLoad
		}
		if m.settings.CheckpointDisk != now.CheckpointDisk {
			later["checkpoint_disk"] = control.AtNextLoad
		}
	}
	return later
}
