package home

import (
	"testing"
	"testing/fstest"
)

// TestMemoryOfAControlGroup finds the least limit of a process's groups.
func TestMemoryOfAControlGroup(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"no groups": {fstest.MapFS{}, 0},
		"no limit": {fstest.MapFS{"proc/self/cgroup": file("0::/user.slice\n"),
			"sys/fs/cgroup/user.slice/memory.max": file("max\n")}, 0},
		"version 2": {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/memory.max": file("6000000000\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n")}, 6e9},
		"a container's root": {fstest.MapFS{"proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("5000000000\n")}, 5e9},
		"version 1": {fstest.MapFS{"proc/self/cgroup": file("5:cpu:/x\n4:memory:/docker/1\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": file("4000000000\n")}, 4e9},
		"nested, with a limit that slows": {fstest.MapFS{"proc/self/cgroup": file("0::/a/b:c/d\n"),
			"sys/fs/cgroup/a/memory.max": file("7000000000\n"), "sys/fs/cgroup/a/b:c/memory.high": file("3000000000\n"),
			"sys/fs/cgroup/a/b:c/d/memory.max": file("max\n"), "sys/fs/cgroup/a/b:c/d/memory.high": file("max\n")}, 3e9},
		"outside of a namespace": {fstest.MapFS{"proc/self/cgroup": file("0::/../../x (deleted)\n"),
			"sys/fs/cgroup/memory.max": file("2000000000\n")}, 2e9},
		"both versions": {fstest.MapFS{"proc/self/cgroup": file("9:cpu,memory:/y\n1:name=systemd:/y\n0::/z\n"),
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": file("8000000000"), "sys/fs/cgroup/z/memory.max": file("9000000000")}, 8e9},
		"what is no number": {fstest.MapFS{"proc/self/cgroup": file("\n0::\nnonsense\n0::/\n"),
			"sys/fs/cgroup/memory.max": file("-1\n"), "sys/fs/cgroup/memory.high": file("99999999999999999999\n")}, 0},
	} {
		if got := groupLimit(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
