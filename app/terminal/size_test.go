package terminal

import "testing"

// A flag of a size takes decimal and binary units from 1 MB on. It refuses a number without a unit.
func TestSizeFlagReadsUnits(t *testing.T) {
	for text, want := range map[string]int64{
		"4GB": 4e9, "1.5 GB": 15e8, "500MB": 5e8, "2000KB": 2e6, "1000000B": 1e6, "1TB": 1e12,
		"4GiB": 4 << 30, "1.5 GiB": 3 << 29, "64MiB": 64 << 20, "2000KiB": 2000 << 10,
		"2000kiB": 2000 << 10, "1TiB": 1 << 40,
		"": 0, "GB": 0, "4": 0, "4G": 0, "-4GB": 0, "4XB": 0, "999kB": 0, "NaNGB": 0, "1e30TB": 0,
		"4GBGB": 0, "4i": 0, "4iB": 0, "4GBi": 0, "4Gi": 0, "900kiB": 0, "4 MiBB": 0,
	} {
		var n int64
		if err := Size(&n)(text); (err == nil) != (want > 0) || n != want {
			t.Errorf("%q is %d, %v; want %d", text, n, err, want)
		}
	}
}
