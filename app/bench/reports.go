package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tandem/app/evidence"
)

// reportText returns a report as it is written to a file.
func reportText(r *evidence.Report) (string, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return string(text) + "\n", err
}

// readReport returns the report in a file, nil if there is no file. A report that the gate refuses
// is an error.
func readReport(file string) (*evidence.Report, error) {
	f, err := os.Open(file)
	if file == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reports, err := evidence.Read(f)
	if err != nil {
		return nil, fmt.Errorf("the saved report %s cannot be read: %w; delete it", file, err)
	}
	if len(reports) != 1 {
		return nil, fmt.Errorf("the saved file %s has %d reports in place of one; delete it", file,
			len(reports))
	}
	if refused := evidence.Check(reports[0]); len(refused) > 0 {
		return nil, fmt.Errorf("the gate refuses the saved report %s: %s", file, refused[0])
	}
	return reports[0], nil
}

// claimText returns a claim as admitted, or why it is withheld.
func claimText(c evidence.Claim) string {
	switch {
	case c.Text != "":
		return c.Text
	case len(c.Withheld) > 0:
		return "withheld: " + strings.Join(c.Withheld, "; ")
	}
	return "not claimed"
}

// fileName returns a name for a file: what is neither a letter nor a digit becomes a dash.
func fileName(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(parts, "-")
}
