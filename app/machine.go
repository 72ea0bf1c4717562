package app

import (
	"cmp"
	"context"
	"runtime"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/engine/mlx"
)

// Machine implements server.Machine.
func (a *App) Machine(context.Context) (control.Machine, error) {
	m := control.Machine{
		Chip: home.Chip(), Cores: runtime.NumCPU(), FastCores: home.FastCores(),
		Memory: a.pool.MachineMemory(), System: cmp.Or(home.System(), runtime.GOOS),
		Kind: runtime.GOOS + "/" + runtime.GOARCH, Engine: computesOn(a.thread),
	}
	if m.Memory > 0 {
		m.Room = a.pool.Room()
	}
	return m, nil
}

// computesOn returns MLX's version and the device.
func computesOn(t *mlx.Thread) string {
	if t.GPU() {
		return "MLX " + mlx.Version() + " on the GPU"
	}
	return "MLX " + mlx.Version() + " on the CPU"
}
