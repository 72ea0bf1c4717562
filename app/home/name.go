package home

import (
	"cmp"
	"fmt"
	"runtime"
)

// Machine names this computer for figures that hold for it alone: chip, cores and system.
func Machine() string {
	return fmt.Sprintf("%s, %d cores, %s", cmp.Or(Chip(), runtime.GOARCH), runtime.NumCPU(),
		runtime.GOOS)
}
