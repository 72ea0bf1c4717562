package models_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/models"
)

// TestReadmeListsEveryArchitecture compares the table of families in README.md with the table of
// architectures.
func TestReadmeListsEveryArchitecture(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Families\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	// after the head
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+?)` \\|").FindAllStringSubmatch(section,
		-1)[1:] {
		listed = append(listed, strings.Split(row[1], "`, `")...)
	}
	if slices.Sort(listed); !slices.Equal(listed, models.Architectures()) {
		t.Errorf("README.md lists %q, the table has %q", listed, models.Architectures())
	}
}
