package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tandem/app/control"
	"tandem/app/evidence"
	"tandem/app/terminal"
)

// evidenceVerbs are the words that may follow evidence.
func evidenceVerbs() []terminal.Verb {
	return []terminal.Verb{{Name: "check", Args: "FILE...",
		Doc:   "hold each report of the files to the rules of evidence; - is standard input",
		Needs: "a file with reports: tandem-lab evidence check FILE..., or tandem-lab evidence check - to read standard input"}}
}

func (m *Main) evidence(_ context.Context, args []string) error {
	if len(args) > 0 && args[0] == "check" {
		return checkEvidence(m, args[1:])
	}
	f := m.Flags("evidence")
	rest, err := m.Parse(f, args, 0, len(args))
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		fmt.Fprintf(m.Stderr, "tandem-lab evidence: there is no verb %q\n", rest[0])
	}
	f.Usage()
	return terminal.ErrUsage
}

// checkEvidence prints a line for each violation of each report, or the headline of an admitted
// one.
func checkEvidence(m *Main, args []string) error {
	f := m.Flags("evidence check")
	asJSON := f.Bool("json", false, "one JSON object a report")
	files, err := m.Parse(f, args, 1, len(args))
	if err != nil {
		return err
	}
	reports, refused, unread := 0, 0, false
	for _, file := range files {
		list, err := m.readReports(file)
		if err != nil {
			unread = true
			fmt.Fprintf(m.Stderr, "tandem-lab evidence check: %s: %s\n", terminal.Printable(file),
				terminal.Printable(err.Error()))
			continue
		}
		for i, r := range list {
			v := newVerdict(file, i, len(list), r)
			if !v.Admitted {
				refused++
			}
			write := v.write
			if *asJSON {
				write = func(w io.Writer) error { return terminal.WriteJSON(w, v) }
			}
			if err := write(m.Stdout); err != nil {
				return err
			}
		}
		reports += len(list)
	}
	switch {
	case unread:
		return terminal.ErrUsage
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
	r, err := os.Open(file)
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
