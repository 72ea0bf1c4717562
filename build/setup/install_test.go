package setup

import (
	"strings"
	"testing"
)

func TestInstallLineNamesEachPackageOnce(t *testing.T) {
	list := []Requirement{
		{What: "a C++ compiler", Apt: "g++", Hint: "xcode-select --install"},
		{What: "CMake", Apt: "cmake", brew: "cmake"},
		{What: "Rust", Hint: "rustup.rs"},
	}
	tests := []struct {
		missing []Requirement
		goos    string
		want    string
		all     bool
	}{
		{nil, "linux", "", true},
		{list[:2], "linux", "apt-get install -y --no-install-recommends g++ cmake", true},
		{list[:2], "darwin", "brew install cmake", false},
		{list[1:2], "darwin", "brew install cmake", true},
		{list[2:], "linux", "", false},
		{[]Requirement{{What: "Node.js", brew: "node"}, {What: "npm", brew: "node"}}, "darwin", "brew install node", true},
	}
	for _, test := range tests {
		line, all := installLine(test.missing, test.goos)
		if got := strings.Join(line, " "); got != test.want || all != test.all {
			t.Errorf("%s %v: got %q, %t", test.goos, test.missing, got, all)
		}
	}
	text := Describe(list, "linux")
	for _, want := range []string{"rustup.rs",
		"run: sudo apt-get install -y --no-install-recommends g++ cmake"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}
