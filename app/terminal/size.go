package terminal

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Size reads the value of a flag: a number and a unit into n, in bytes, at least a megabyte. A GB is a billion
// bytes, a GiB is 2^30.
func Size(n *int64) func(string) error {
	return func(text string) error {
		number := strings.TrimRight(text, " kKMGTiB")
		unit := strings.Replace(strings.TrimSpace(text[len(number):]), "K", "k", 1)
		v, err := strconv.ParseFloat(number, 64)
		base, power := 1000.0, slices.Index([]string{"B", "kB", "MB", "GB", "TB"}, unit)
		if power < 0 {
			base, power = 1024, slices.Index([]string{"", "kiB", "MiB", "GiB", "TiB"}, unit)
		}
		if v *= math.Pow(base, float64(power)); err != nil || unit == "" || power < 0 ||
			!(v >= 1e6 && v < 1e18) {
			return errors.New("write a number and a unit, such as 500MB, 4GB (a GB has 1000 MB) or 4GiB (1024 MiB), at least 1MB")
		}
		*n = int64(v)
		return nil
	}
}
