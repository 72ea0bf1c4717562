package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/eviction"
	"tandem/app/home"
	"tandem/engine/checkpoint"
	"tandem/models"
	"tandem/storage"
	"tandem/storage/disk"
)

// CheckpointFolder is the folder of the checkpoint files in the home folder. Only the owner may
// read it, as with the database, and backups leave it out: the files hold the tokens of prompts.
const CheckpointFolder = "checkpoints"

// openStore opens the files of a model's checkpoints and returns their key. store is nil if files
// are not kept, or cannot be kept; the log says why.
func (p *Pool) openStore(m *Model, d *drafters.Drafter) (store *checkpoint.Store, key string) {
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
		Dir: p.home.Path(CheckpointFolder), Folder: &p.files, Key: key, PerDay: CheckpointsADay,
		Logger: p.log, Make: home.WithoutBackup, Context: d.Key(), Index: checkpointIndex{p.db, m.row.ID},
		Budget: cmp.Or(p.settings.Current().CheckpointDisk, DiskShare(&disk)),
	}
	return checkpoint.NewStore(o), key
}

// checkpointKey returns a key that differs between any two models as they are in memory. It tells
//   - the weights, and the format that they are held in
//   - the type that the model computes in
//   - the bits and the layout of keys and values
//   - what restores keys and values, with the format of the drafter: restored rows are kept too
//   - the device and the arithmetic
func (p *Pool) checkpointKey(m *Model) (string, error) {
	target, err := p.targetKey(m)
	return checkpoint.NewKey(target, arithmetic()), err
}

// targetKey returns what checkpointKey tells except the arithmetic.
func (p *Pool) targetKey(m *Model) (string, error) {
	h, row, bundle := sha256.New(), m.row, m.bundle
	fmt.Fprintln(h, p.thread.GPU(), bundle.Info.Architecture, bundle.Info.Parameters,
		bundle.Info.Dtype)
	if bundle.Info.Packed {
		fmt.Fprintln(h, "packed")
	}
	if m.kvBits > 0 {
		fmt.Fprintln(h, "kv bits", m.kvBits)
	}
	if m.layout == control.KVFull {
		fmt.Fprintln(h, "every row")
	}
	if r := m.restoration; r != nil {
		d := m.drafter.Files().Info
		fmt.Fprintln(h, r.Layout, r.Key, d.Dtype, m.drafterBits, m.draftWindow)
	}
	var err error
	if row.Source == storage.SourcePocket {
		err = models.CopyPocketWeights(h)
	} else if file := models.GGUFDates(row.Path); file != "" {
		fmt.Fprint(h, file)
	} else {
		err = addFileDates(h, row.Path)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// addFileDates adds the names, sizes and dates of a folder's weights and of its config.json.
func addFileDates(h io.Writer, dir string) error {
	entries, err := disk.ReadDir(dir, 0)
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".safetensors" || e.Name() == models.QuantConfigFile {
			files = append(files, e.Name())
		}
	}
	for _, name := range append(files, "config.json") {
		info, err := disk.Folder(dir).Stat(name)
		if err != nil {
			return err
		}
		fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
	}
	return nil
}

// What checkpoints may take of the machine unless a setting says otherwise.
const (
	CheckpointMemory = 8        // 1/CheckpointMemory of the memory
	checkpointDisk   = 10       // 1/checkpointDisk of the free disk
	MaxCheckpoints   = 16 << 30 // bytes on disk at most
	CheckpointsADay  = 64 << 30 // bytes written a day at most, since flash wears
)

// CheckpointBytes returns how much memory checkpoints may take from the next load on, in bytes. A
// setting above MaxCheckpointMemory counts as that: an older program or a machine with more memory
// may have stored it.
func (s *sizer) CheckpointBytes() int64 {
	if s.opts.NoCheckpoints {
		return 0
	}
	all := s.MachineMemory()
	set := s.settings.Current().CheckpointMemory
	if all > 0 {
		set = min(set, MaxCheckpointMemory(all))
	}
	return cmp.Or(set, all/CheckpointMemory)
}

// MaxCheckpointMemory returns how much of a machine's memory may be set for checkpoints, in bytes:
// half of what models may take, so that a model still fits, or the default if that is more.
func MaxCheckpointMemory(memory int64) int64 {
	return max(eviction.RoomFor(memory)/2, memory/CheckpointMemory)
}

// DiskShare returns how much of a disk checkpoints take at most where nothing is set, in bytes.
func DiskShare(disk *unix.Statfs_t) int64 {
	return min(int64(disk.Bavail)*int64(disk.Bsize)/checkpointDisk, MaxCheckpoints)
}

// AutomaticCheckpointMemory returns how much memory checkpoints take where nothing is set, in
// bytes.
func (s *sizer) AutomaticCheckpointMemory() int64 { return s.MachineMemory() / CheckpointMemory }

// SettingsLater returns the settings whose new values work only after the next load.
func (p *Pool) SettingsLater() map[string]control.Later {
	now := p.settings.Current()
	later := map[string]control.Later{}
	for _, m := range p.look().models {
		if m.dtype != models.DtypePolicy(now.Dtype) {
			later["dtype"] = control.AtNextLoad
		}
		if m.kvBits != m.formatAtNextLoad(m.modelSettings()).kvBits {
			later["kv_bits"] = control.AtNextLoad
		}
		if m.settings.CheckpointMemory != now.CheckpointMemory {
			later["checkpoint_memory"] = control.AtNextLoad
		}
		if m.settings.CheckpointDisk != now.CheckpointDisk {
			later["checkpoint_disk"] = control.AtNextLoad
		}
	}
	return later
}
