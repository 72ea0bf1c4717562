package server

import (
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tandem/app/roomtest"
	"tandem/app/wire"
)

// Other machines reach what app/README.md lists, and nothing else.
func TestReadmeListsWhatOtherMachinesReach(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "\n- Other machines reach ")
	list, _, ends := strings.Cut(list, "\n- ")
	if !found || !ends {
		t.Fatal("README.md does not say what other machines reach")
	}
	unseen := map[string]bool{}
	for _, m := range regexp.MustCompile("`(/[^`]+)`").FindAllStringSubmatch(list, -1) {
		unseen[m[1]] = true
	}
	listed := maps.Clone(unseen)
	New(services(roomtest.NewBackend()), Options{}).routes(nil, func(pattern string, _ map[string]wire.Handler) {
		path := pattern
		for _, folder := range []string{"/v1", "/api"} {
			if strings.HasPrefix(pattern, folder+"/") {
				path = folder
			}
		}
		if delete(unseen, path); isShared(pattern) != listed[path] {
			t.Errorf("%s is open to other machines: %t, and README.md lists %s: %t", pattern,
				isShared(pattern), path, listed[path])
		}
	})
	if len(unseen) > 0 {
		t.Errorf("README.md lists %v, where no route is", unseen)
	}
}

// The table of errors in README.md has the server's status for each code.
func TestReadmeHasStatusOfEachError(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "| status | `error.code` | means |\n")
	if !found {
		t.Fatal("README.md has no list of errors")
	}
	list, _, _ = strings.Cut(list, "\n\n")
	rows := regexp.MustCompile("(?m)^\\| (\\d+) \\| (`.*`) \\| ").FindAllStringSubmatch(list, -1)
	if len(rows) < 15 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		for code := range strings.SplitSeq(row[2], ", ") {
			code = strings.Trim(code, "`")
			if o, ok := wire.Outcomes[code]; !ok || strconv.Itoa(o.Status) != row[1] {
				t.Errorf("README.md gives %s the status %s; it is %d", code, row[1], o.Status)
			}
		}
	}
}
