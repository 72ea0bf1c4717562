package server

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"tandem/app/wire"
	"testing"
)

// TestReadmeErrors fails where the table of errors in README.md gives a code another status than
// the server does.
func TestReadmeErrors(t *testing.T) {
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
