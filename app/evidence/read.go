package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of what Read takes.
const (
	MaxBytes  = 16 << 20 // of a file
	MaxDepth  = 64       // of objects and lists in each other
	MaxValues = 1 << 20  // values and names in a file
)

var errCut = errors.New("the text ends inside a value; the file is cut off")

// Read returns the reports of a file, which stand one after the other. Fields that the schema does
// not have are left out. It returns an error for
//   - text that is not JSON
//   - a field of a wrong type or out of its bounds, or that is there twice
//   - a value that is no report
//   - a file without a report
//   - a file beyond MaxBytes, MaxDepth or MaxValues
func Read(r io.Reader) ([]*Report, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("more than %d MiB; give each report a file of its own",
			MaxBytes>>20)
	}
	t := &treeReader{Decoder: json.NewDecoder(bytes.NewReader(text))}
	t.UseNumber()
	var reports []*Report
	for {
		tree, err := t.value(0)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line := 1 + bytes.Count(text[:t.InputOffset()], []byte("\n"))
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		report, err := newReport(tree)
		if err != nil {
			return nil, fmt.Errorf("report %d: %w", len(reports)+1, err)
		}
		reports = append(reports, report)
	}
	if len(reports) == 0 {
		return nil, errors.New("empty; a report is a JSON object")
	}
	return reports, nil
}

// newReport makes a report of a JSON value. Of one older than SchemaVersion it takes kind and
// version alone, because its fields may have had other types.
func newReport(tree any) (*Report, error) {
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a report is an object, not %s", kindOf(tree))
	}
	var head struct {
		SchemaVersion *Count `json:"schema_version"`
		Kind          string `json:"kind"`
	}
	if err := fill(&head, object); err != nil {
		return nil, err
	}
	if head.Kind == "" {
		return nil, errors.New(`kind is missing; name the kind of the report, such as "tandem_recall"`)
	}
	r := &Report{SchemaVersion: head.SchemaVersion, Kind: head.Kind}
	if !r.isChat() && object["turns"] == nil && r.isLegacy() {
		return r, nil
	}
	if err := fill(r, object); err != nil {
		return nil, err
	}
	if r.Results == nil && r.Gate == nil && r.Memory == nil && r.Throughput == nil &&
		r.Details == nil && !r.isChat() {
		return nil, fmt.Errorf("kind %.64q has none of the sections results, gate, memory, "+
			"throughput, details and turns; the gate cannot judge it", r.Kind)
	}
	return r, nil
}

// A treeReader reads JSON values into maps and lists.
type treeReader struct {
	*json.Decoder
	values int
}

// value reads one value. io.EOF means that no value follows.
func (t *treeReader) value(depth int) (any, error) {
	token, err := t.next()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == MaxDepth {
		return nil, fmt.Errorf("objects and lists are nested more than %d deep", MaxDepth)
	}
	var v any
	if delim == '[' {
		v, err = t.list(depth + 1)
	} else {
		v, err = t.object(depth + 1)
	}
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return v, err
}

// list reads a list whose bracket has been read.
func (t *treeReader) list(depth int) (any, error) {
	list := []any{}
	for t.More() {
		v, err := t.value(depth)
		if err != nil {
			return nil, under(index(len(list)), err)
		}
		list = append(list, v)
	}
	_, err := t.next()
	return list, err
}

// object reads an object whose brace has been read.
func (t *treeReader) object(depth int) (any, error) {
	object := map[string]any{}
	for t.More() {
		token, err := t.next()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("not JSON: a field's name is no text")
		}
		if _, twice := object[name]; twice {
			return nil, &fault{name, "is there twice; readers would disagree about it"}
		}
		if object[name], err = t.value(depth); err != nil {
			return nil, under(name, err)
		}
	}
	_, err := t.next()
	return object, err
}

// next reads a token, and says what to do about text that is not JSON.
func (t *treeReader) next() (json.Token, error) {
	if t.values++; t.values > MaxValues {
		return nil, fmt.Errorf("more than %d values; give each report a file of its own", MaxValues)
	}
	token, err := t.Token()
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return token, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errCut
	}
	for _, start := range []string{"'N'", "'I'", "numeric literal"} { // as Python writes them
		if strings.Contains(err.Error(), start) {
			return nil, fmt.Errorf("not JSON: %w; write null for NaN and Infinity", err)
		}
	}
	return nil, fmt.Errorf("not JSON: %w", err)
}
