package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"tandem/app/figures"
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
			var header figures.Header
			if err = json.Unmarshal(line, &header); err == nil {
				err = header.Print(w)
			}
		} else {
			err = printFound(w, line)
		}
		if err != nil {
			return nil, fmt.Errorf("%w in %q", err, line)
		}
	}
}

// printFound writes a measurement or a table.
func printFound(w io.Writer, line []byte) error {
	var t figures.Table
	numbers := json.NewDecoder(bytes.NewReader(line))
	numbers.UseNumber() // a whole number stays one: 3, not 3.00
	if err := numbers.Decode(&t); err != nil {
		return err
	}
	if t.Title != "" {
		return t.Print(w)
	}
	var metrics figures.Metrics
	if err := json.Unmarshal(line, &metrics); err != nil {
		return err
	}
	return metrics.Print(w)
}
