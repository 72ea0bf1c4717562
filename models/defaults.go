package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"tandem/models/gguf"
	"tandem/models/nn"
)

// Defaults are the sampling parameters that the model's authors recommend, from
// generation_config.json, from the metadata of a GGUF file or from Ollama's parameters. A field is
// nil if they name none.
type Defaults struct {
	Temperature       *float64 // 0 if do_sample is false
	TopP              *float64
	TopK              *int
	MinP              *float64
	RepetitionPenalty *float64

	// Ignored says of each value that cannot be used which it is and why, in one sentence.
	Ignored []string

	eos tokenIDs
}

const generationConfigFile = "generation_config.json"

// readDefaults reads generation_config.json, which may be absent. A value that no request could
// name is left out, so that it does not fail all requests that name none.
func readDefaults(fsys fs.FS) (Defaults, error) {
	text, err := readJSON(fsys, generationConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Defaults{}, nil
	}
	if err != nil {
		return Defaults{}, err
	}
	r := defaultsReader{from: generationConfigFile}
	if _, isGGUF := fsys.(*gguf.Folder); isGGUF { // which has no such file
		r.from = "its recommended sampling"
	}
	if err := json.Unmarshal(text, &r.fields); err != nil {
		return Defaults{}, errorf(CodeInvalid, generationConfigFile+": %w", err)
	}
	d := Defaults{
		Temperature:       r.number("temperature", 0, math.MaxFloat32),
		TopP:              r.number("top_p", 0, 1),
		TopK:              r.count("top_k", -1),
		MinP:              r.number("min_p", 0, 1),
		RepetitionPenalty: r.number("repetition_penalty", minPenalty, maxPenalty),
	}
	if sample := readValue[bool](&r, "do_sample", "true or false"); sample != nil && !*sample {
		d.Temperature = new(0.0)
	}
	if texts := readValue[[]string](&r, "stop_strings", "a list of texts"); texts != nil {
		r.ignored = append(r.ignored, fmt.Sprintf("%s: the stop texts %.40q are ignored; "+
			"a request may name them", r.from, (*texts)[:min(len(*texts), 8)]))
	}
	if eos := readValue[tokenIDs](&r, "eos_token_id", "a token id or a list of them"); eos != nil {
		d.eos = *eos
	}
	d.Ignored = r.ignored
	return d, nil
}

// Bounds of repetition_penalty, those of a request.
const (
	minPenalty = 0.01
	maxPenalty = 100
)

// A defaultsReader reads fields of generation_config.json. It notes each field that is of another
// type or out of range.
type defaultsReader struct {
	from    string // what a note names
	fields  map[string]json.RawMessage
	ignored []string
}

// readValue reads a field. It returns nil if there is none or if it is not what.
func readValue[T any](r *defaultsReader, name, what string) *T {
	raw, ok := r.fields[name]
	if !ok || string(raw) == "null" {
		return nil
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		r.ignore(name, "is not "+what)
		return nil
	}
	return v
}

func (r *defaultsReader) ignore(name, why string) {
	shown := string(r.fields[name])
	if shown == nn.NonFinite {
		shown = "NaN or Infinity"
	}
	r.ignored = append(r.ignored, fmt.Sprintf("%s: %s %s, so it is ignored: it is %.40s",
		r.from, name, why, shown))
}

// number reads a number between two bounds.
func (r *defaultsReader) number(name string, lower, upper float64) *float64 {
	v := readValue[float64](r, name, "a number")
	switch {
	case v == nil || *v >= lower && *v <= upper:
		return v
	case upper == math.MaxFloat32:
		r.ignore(name, fmt.Sprintf("is not a number of at least %v", lower))
	default:
		r.ignore(name, fmt.Sprintf("is not between %v and %v", lower, upper))
	}
	return nil
}

// count reads a whole number that is not less than a bound.
func (r *defaultsReader) count(name string, lower int) *int {
	v := readValue[float64](r, name, "a whole number")
	if v == nil {
		return nil
	}
	if *v != math.Trunc(*v) || *v < float64(lower) || *v > math.MaxInt32 {
		r.ignore(name, fmt.Sprintf("is no whole number between %d and %d", lower, math.MaxInt32))
		return nil
	}
	return new(int(*v))
}

// joinEOS returns the ids that end a generation: all that the given files name, each once. Ids
// outside the vocabulary are dropped, because they can't be generated.
//
// mlx_lm stops at fewer: there generation_config.json replaces config.json, whose text_config it
// does not read. A model that was trained to end with either then goes on after its end.
func joinEOS(vocab int, named ...tokenIDs) []int32 {
	var ids []int32
	for _, id := range slices.Concat(named...) {
		if id >= 0 && int(id) < vocab && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
