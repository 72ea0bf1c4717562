package server

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"tandem/app/wire"
	"testing"
)

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
