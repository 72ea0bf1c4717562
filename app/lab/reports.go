package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tandem/app/evidence"
	"tandem/storage/disk"
)

// reportText returns a report as it is written to a file.
func reportText(r *evidence.Report) (string, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return string(text) + "\n", err
}

// readReport returns the report in a file, or nil if the file does not exist. A report that the
// gate refuses is an error.
func readReport(file string) (*evidence.Report, error) {
	f, err := disk.Open(file)
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
		return nil, fmt.Errorf("the gate refuses the saved report %s: %s; delete it", file, refused[0])
	}
	return reports[0], nil
}

// briefly returns a claim for a cell. The reasons against it belong below the table.
func briefly(c evidence.Claim) string { return cmp.Or(c.Brief(), "not claimed") }

// reasons gathers why claims are withheld, for notes below a table.
type reasons []withheldReason

// A withheldReason is why some claims are withheld.
type withheldReason struct {
	text   string
	claims []string
}

// add adds the reasons against a claim.
func (r *reasons) add(name string, c evidence.Claim) {
	for _, text := range c.Withheld {
		i := slices.IndexFunc(*r, func(w withheldReason) bool { return w.text == text })
		if i < 0 {
			i, *r = len(*r), append(*r, withheldReason{text: text})
		}
		(*r)[i].claims = append((*r)[i].claims, name)
	}
}

// notes returns a line for each reason.
func (r reasons) notes() (lines []string) {
	for _, w := range r {
		lines = append(lines, strings.Join(w.claims, "; ")+": "+w.text)
	}
	return lines
}

// fileName returns a name for a file: what is neither a letter nor a digit becomes a dash.
func fileName(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(parts, "-")
}
