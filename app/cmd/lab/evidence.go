package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/evidence"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// checkEvidence prints a line for each violation of each report, or the headline of an admitted
// one.
func checkEvidence(m *Main) *cobra.Command {
	c := &cobra.Command{Use: "check FILE...", Short: "check each report of the files; - is standard input",
		Args: terminal.Args(1, math.MaxInt, "a file with reports, or - for standard input")}
	asJSON := c.Flags().Bool("json", false, "one JSON object a report")
	c.RunE = func(_ *cobra.Command, files []string) error { return m.judge(files, *asJSON) }
	return c
}

// judge prints the verdicts on the reports of files.
func (m *Main) judge(files []string, asJSON bool) error {
	reports, refused := 0, 0
	var unread []error
	for _, file := range files {
		list, err := m.readReports(file)
		if err != nil {
			unread = append(unread, fmt.Errorf("%s: %s", terminal.Printable(file), terminal.Printable(err.Error())))
			continue
		}
		for i, r := range list {
			v := newVerdict(file, i, len(list), r)
			if !v.Admitted {
				refused++
			}
			write := v.write
			if asJSON {
				write = func(w io.Writer) error { return terminal.WriteJSON(w, v) }
			}
			if err := write(m.Stdout); err != nil {
				return err
			}
		}
		reports += len(list)
	}
	switch {
	case unread != nil:
		return &terminal.ExitError{Code: 2, Err: errors.Join(unread...)}
	case refused > 0:
		return fmt.Errorf("not admitted: %d of %s", refused, control.Plural(reports, "report"))
	}
	return nil
}

// readReports reads the reports of a file, or of standard input.
func (m *Main) readReports(file string) ([]*evidence.Report, error) {
	if file == "-" {
		return evidence.Read(m.Stdin)
	}
	r, err := disk.Open(file)
	if err != nil {
		var failed *os.PathError
		if errors.As(err, &failed) {
			err = failed.Err // the line names the file already
		}
		return nil, err
	}
	defer r.Close()
	return evidence.Read(r)
}

// A verdict is what the gate says of one report.
type verdict struct {
	File       string               `json:"file"`
	Report     int                  `json:"report"` // in its file, from 1
	Kind       string               `json:"kind"`
	Admitted   bool                 `json:"admitted"`
	Violations []evidence.Violation `json:"violations"`
	Headline   evidence.Headline    `json:"headline"`

	place string // the file, and which of its reports if it has several
}

func newVerdict(file string, i, of int, r *evidence.Report) verdict {
	v := verdict{File: file, Report: i + 1, Kind: r.Kind,
		Violations: append([]evidence.Violation{}, evidence.Check(r)...),
		Headline:   evidence.HeadlineOf(r), place: file}
	v.Admitted = len(v.Violations) == 0
	if of > 1 {
		v.place = fmt.Sprintf("%s, report %d", file, v.Report)
	}
	return v
}

// write prints the verdict for a person. Names and texts are the report's: what would move the
// terminal's cursor is shown as a sign.
func (v verdict) write(w io.Writer) error {
	var lines []string
	for _, x := range v.Violations {
		lines = append(lines, v.place+": "+x.String())
	}
	if v.Admitted {
		claims := v.Headline.Lines()
		admitted := v.place + ": admitted"
		if len(claims) == 0 {
			admitted += "; it claims none of recall, speed-up and memory"
		}
		lines = append(lines, admitted)
		for _, line := range claims {
			lines = append(lines, "  "+line)
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, terminal.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}
