package pool

import (
	"cmp"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/app/plan"
	"tandem/models"
)

// What checkpoints may take of the machine unless a setting says otherwise.
const (
	CheckpointMemory = 8        // 1/CheckpointMemory of the memory
	checkpointDisk   = 10       // 1/checkpointDisk of the free disk
	MostCheckpoints  = 16 << 30 // bytes on disk at most
	checkpointsADay  = 64 << 30 // bytes written a day at most, since flash wears
)

// CheckpointBytes returns how much memory checkpoints may take from the next load on, in bytes. A
// setting above MostCheckpointMemory counts as that: an older program or a machine with more memory
// may have stored it.
func (s *sizer) CheckpointBytes() int64 {
	if s.opts.NoCheckpoints {
		return 0
	}
	all := s.MachineMemory()
	set := s.settings.Current().CheckpointMemory
	if all > 0 {
		set = min(set, MostCheckpointMemory(all))
	}
	return cmp.Or(set, all/CheckpointMemory)
}

// MostCheckpointMemory returns how much of a machine's memory may be set for checkpoints, in bytes:
// half of what models may take, so that a model still fits, or the default if that is more.
func MostCheckpointMemory(memory int64) int64 {
	return max(plan.RoomFor(memory)/2, memory/CheckpointMemory)
}

// DiskShare returns how much of a disk checkpoints take at most where nothing is set, in bytes.
func DiskShare(disk *unix.Statfs_t) int64 {
	return min(int64(disk.Bavail)*int64(disk.Bsize)/checkpointDisk, MostCheckpoints)
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
		if m.kvBits != m.formAtNextLoad(m.ownSettings()).kvBits {
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
