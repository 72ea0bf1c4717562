package app

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"tandem/app/control"
	"tandem/engine/mlx"
)

// Machine implements server.Machine.
func (a *App) Machine(context.Context) (control.Machine, error) {
	m := control.Machine{
		Chip: chip(), Cores: runtime.NumCPU(), FastCores: fastCores(), Memory: a.memory(),
		System: cmp.Or(system(), runtime.GOOS), Kind: runtime.GOOS + "/" + runtime.GOARCH, Engine: a.computesOn(),
	}
	if m.Memory > 0 {
		m.Room = a.room()
	}
	return m, nil
}

// computesOn names MLX's version and the device.
func (a *App) computesOn() string {
	device := "the CPU"
	if a.thread.GPU() {
		device = "the GPU"
	}
	return "MLX " + mlx.Version() + " on " + device
}

// machine says what this computer is, for figures that hold for it alone.
func machine() string {
	return fmt.Sprintf("%s, %d cores, %s", cmp.Or(chip(), runtime.GOARCH), runtime.NumCPU(), runtime.GOOS)
}
