package app

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"tandem/app/control"
)

// checkBudgets refuses what checkpoints are to take at most where the machine has
// not as much: of those that differ from before. What was set when more was free
// stays.
func (a *App) checkBudgets(ctx context.Context, before, next control.Settings) error {
	if most, all := roomFor(a.memory()), a.memory(); next.CheckpointMemory != before.CheckpointMemory && next.CheckpointMemory > most {
		return badBudget("checkpoint_memory", next.CheckpointMemory, most, fmt.Sprintf("this machine has %s, and %s of it are the system's", decimalGB(all), decimalGB(all-most)))
	}
	if next.CheckpointDisk == before.CheckpointDisk || next.CheckpointDisk == 0 {
		return nil
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(a.home.Dir, &disk); err != nil {
		a.log.Warn("what is free on disk is not known", "error", err)
		return nil
	}
	all, err := a.db.Totals(ctx)
	if err != nil {
		return err
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	if most := free + all.Bytes; next.CheckpointDisk > most {
		return badBudget("checkpoint_disk", next.CheckpointDisk, most, fmt.Sprintf("%s are free on the disk, and checkpoints have %s", decimalGB(free), decimalGB(all.Bytes)))
	}
	return nil
}

func badBudget(name string, asked, most int64, why string) error {
	return &control.Error{Code: control.CodeInvalid, Param: name, Message: fmt.Sprintf("%s must be %s at most, not %s: %s.", name, decimalGB(most), decimalGB(asked), why)}
}

// decimalGB writes an amount as settings and flags are written.
func decimalGB(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }
