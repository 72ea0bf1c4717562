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

// What checkpoints may take of the machine.
const (
	CheckpointMemory = 8        // a part of the memory in so many
	checkpointDisk   = 10       // of what is free on disk, likewise
	MostCheckpoints  = 16 << 30 // bytes on disk, however much is free
	checkpointsADay  = 64 << 30 // bytes written: flash wears
)

// CheckpointFolder is where the home folder has their files. They hold what
// prompts became, and their tokens: as with the database, only the owner may
// read them.
const CheckpointFolder = "checkpoints"

// CheckpointBytes returns what checkpoints may take of the memory, as of the next
// load. More than may be set now, as an older program or a machine with more
// memory let it be, counts as the most.
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

// openStore opens the files of a model's checkpoints, and returns the key they are
// kept by; nil if they are not to be
// kept, or cannot be, which is logged.
func (p *Pool) openStore(row storage.Model, bundle *models.Bundle, d *Drafter) (store *checkpoint.Store, key string) {
	if p.opts.NoCheckpoints {
		return nil, ""
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(p.home.Dir, &disk); err != nil {
		p.log.Warn("checkpoints end with the program: what is free on disk is not known", "error", err)
		return nil, ""
	}
	key, err := p.checkpointKey(row, bundle)
	if err != nil {
		p.log.Warn("checkpoints end with the program: the model cannot be told from others", "error", err)
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

// checkpointKey tells a model as it is in memory from every other: by its
// weights, the type it computes in, and what it computes with.
func (p *Pool) checkpointKey(row storage.Model, bundle *models.Bundle) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, mlx.Version(), p.thread.GPU(), bundle.Info.Architecture, bundle.Info.Parameters, bundle.Info.Dtype)
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

// MostCheckpointMemory returns how much of a machine's memory checkpoints may be
// given: half of what models may take, so that some model fits beside them, or
// what they get unasked, if that is more.
func MostCheckpointMemory(memory int64) int64 {
	return max(roomFor(memory)/2, memory/CheckpointMemory)
}

// DiskShare is what checkpoints take of a disk at most, unless something is set.
func DiskShare(disk *unix.Statfs_t) int64 {
	return min(int64(disk.Bavail)*int64(disk.Bsize)/checkpointDisk, MostCheckpoints)
}

// AutomaticCheckpointMemory returns what checkpoints may take of the memory where nothing is set.
func (p *Pool) AutomaticCheckpointMemory() int64 { return p.MachineMemory() / CheckpointMemory }

// SettingsLater names those whose values in force are not what works now.
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
