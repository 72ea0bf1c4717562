package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"

	"tandem/build/setup"
)

// runAlone runs a bench without a rival, prints its output as it comes, and returns all of it. If
// the bench missed a bar or found a fault, runAlone returns the output and an error.
func runAlone(b *setup.Builder, cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	text, err := printAlone(b.Out, out)
	if err != nil {
		io.Copy(io.Discard, out) // lets the bench end
	}
	if failed := cmd.Wait(); failed != nil {
		err = fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), failed)
	}
	return text, err
}

// printAlone prints the lines of JSON that a bench without a rival writes: a header, then a
// measurement or tables. It returns the lines.
func printAlone(w io.Writer, r io.Reader) (text []byte, err error) {
	lines := bufio.NewReader(r)
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			if n < 2 {
				return nil, fmt.Errorf("the bench printed %q, but no result", text)
			}
			return text, nil
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		text = append(text, line...)
		if n == 0 {
			var header benchHeader
			if err = json.Unmarshal(line, &header); err == nil {
				header.print(w)
			}
		} else {
			err = printFound(w, line)
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%w in %q", err, line)
		}
	}
}

// A benchTable is the result of a bench that one measurement cannot hold.
type benchTable struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Notes   []string `json:"notes"`
}

// printFound writes a measurement or a table.
func printFound(w io.Writer, line []byte) error {
	var t benchTable
	if err := json.Unmarshal(line, &t); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if t.Title == "" {
		var metrics map[string]float64
		if err := json.Unmarshal(line, &metrics); err != nil {
			return err
		}
		fmt.Fprintln(table, "metric\ttandem\t")
		for _, metric := range slices.Sorted(maps.Keys(metrics)) {
			fmt.Fprintf(table, "%s\t%.4g\t\n", metric, metrics[metric])
		}
		return table.Flush()
	}
	fmt.Fprintf(w, "\n%s\n", t.Title)
	fmt.Fprintln(table, strings.Join(t.Columns, "\t"))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			switch v := v.(type) {
			case nil:
				cells[i] = "-"
			case float64:
				if cells[i] = fmt.Sprintf("%.3g", v); v == math.Trunc(v) {
					cells[i] = fmt.Sprintf("%.0f", v)
				}
			default:
				cells[i] = fmt.Sprint(v)
			}
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, note := range t.Notes {
		fmt.Fprintln(w, note)
	}
	return nil
}
