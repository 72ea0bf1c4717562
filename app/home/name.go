package home

import (
	"cmp"
	"fmt"
	"runtime"
)

// Machine names this computer by chip, cores and system, for figures that hold only for it.
func Machine() string {
	return fmt.Sprintf("%s, %d cores, %s", cmp.Or(Chip(), runtime.GOARCH), runtime.NumCPU(),
		runtime.GOOS)
}
