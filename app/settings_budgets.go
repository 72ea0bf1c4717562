package app

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/app/pool"
)

// automatic returns what checkpoints may take if nothing is set.
func (a *App) automatic() control.Automatic {
	out := control.Automatic{CheckpointMemory: a.pool.AutomaticCheckpointMemory()}
	var disk unix.Statfs_t
	if unix.Statfs(a.home.Dir, &disk) == nil {
		out.CheckpointDisk = pool.DiskShare(&disk)
	}
	return out
}

// checkBudgets refuses a new budget of checkpoints that is more than the machine has. A budget that
// does not differ from before stays, since more may have been free when it was set. Then checkpoints
// take what there is.
func (a *App) checkBudgets(ctx context.Context, before, next control.Settings) error {
	if all := a.pool.MachineMemory(); next.CheckpointMemory != before.CheckpointMemory {
		if most := pool.MaxCheckpointMemory(all); next.CheckpointMemory > most {
			return badBudget("checkpoint_memory", next.CheckpointMemory, most, control.GiB,
				fmt.Sprintf("this machine has %s, and the rest is for models and the system",
					control.GiB.Of(all)))
		}
	}
	if next.CheckpointDisk == before.CheckpointDisk || next.CheckpointDisk == 0 {
		return nil
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(a.home.Dir, &disk); err != nil {
		a.log.Warn("the free disk space is not known", "error", err)
		return nil
	}
	all, err := a.db.Totals(ctx)
	if err != nil {
		return err
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	if most := free + all.Bytes; next.CheckpointDisk > most {
		return badBudget("checkpoint_disk", next.CheckpointDisk, most, control.GB, fmt.Sprintf(
			"%s are free on the disk, and checkpoints have %s", control.GB.Of(free),
			control.GB.Of(all.Bytes)))
	}
	return nil
}

// badBudget refuses an amount in the unit of the page: memory in powers of two, disk in powers of ten.
// The bound is rounded down, so that the amount in the error is accepted.
func badBudget(name string, asked, most int64, u control.Unit, why string) error {
	tenth := int64(u) / 10
	bound, given := u.Of(most/tenth*tenth), u.Exactly(asked)
	if bound == given {
		bound, given = control.Grouped(int(most))+" bytes", control.Grouped(int(asked))
	}
	return &control.Error{Code: control.CodeInvalid, Param: name,
		Message: fmt.Sprintf("%s must be %s at most, not %s: %s.", name, bound, given, why)}
}
