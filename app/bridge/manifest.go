package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"syscall"
	"unicode/utf8"
)

const (
	// Folder holds the manifest and the results, relative to the checkout.
	Folder = ".tandem-bridge"
	// ManifestFile is the manifest, relative to the checkout.
	ManifestFile = Folder + "/request.json"

	schemaVersion = 1
	maxManifest   = 16 << 10 // bytes
)

// A Request is a manifest that was checked.
type Request struct {
	Preset      Preset
	Params      map[string]any // strings and json.Numbers; a default is left out
	Ref         string         // hash of the commit that is measured
	RequestedBy string
	Nonce       string
}

// A RejectedError says why a request is not run. None of its commands was started.
type RejectedError struct {
	Reason string
	quiet  bool // it leaves no summary: no client waits, or its results exist
}

func (e *RejectedError) Error() string { return e.Reason }

func reject(format string, args ...any) error {
	return &RejectedError{Reason: fmt.Sprintf(format, args...)}
}

var (
	nonceForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{3,63}$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$`)
)

// manifestFields are the fields of a manifest. All must be there.
var manifestFields = []string{"schema_version", "preset", "params", "ref", "requested_by", "nonce"}

// Parse reads a manifest. Error: *RejectedError.
func Parse(text []byte) (Request, error) {
	fields, err := decodeManifest(text)
	if err != nil {
		return Request{}, reject("the manifest is refused: %v", err)
	}
	for _, name := range manifestFields {
		if _, ok := fields[name]; !ok {
			return Request{}, reject("the manifest is refused: %s is missing", name)
		}
	}
	if fields["schema_version"] != json.Number("1") {
		return Request{}, reject("the manifest's schema_version must be %d", schemaVersion)
	}
	texts := map[string]string{}
	for _, name := range []string{"preset", "ref", "requested_by", "nonce"} {
		value, ok := fields[name].(string)
		if !ok {
			return Request{}, reject("%s must be a text", name)
		}
		texts[name] = value
	}
	params, ok := fields["params"].(map[string]any)
	if !ok {
		return Request{}, reject("params must be an object")
	}
	return NewRequest(texts["preset"], params, texts["ref"], texts["requested_by"],
		texts["nonce"])
}

// NewRequest returns a request of these values, if the runner would accept it. Error:
// *RejectedError.
func NewRequest(preset string, params map[string]any, ref, by, nonce string) (Request, error) {
	p, ok := FindPreset(preset)
	switch {
	case !ok:
		return Request{}, reject("there is no preset %.80q; `tandem-lab bridge presets` lists them",
			preset)
	case !nonceForm.MatchString(nonce):
		return Request{}, reject("nonce must be 4-64 of a-z, 0-9 and -, and must not start with -")
	case !hashForm.MatchString(ref):
		return Request{}, reject("ref must be the whole hash of a commit")
	case !nameForm.MatchString(by):
		return Request{}, reject("requested_by must be a name of at most 64 letters, digits, spaces and .@_-")
	}
	r := Request{p, params, ref, by, nonce}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if _, ok := p.param(name); !ok {
			return Request{}, reject("%s has no parameter %.80q", p.Name, name)
		}
	}
	for _, x := range p.Params {
		if _, err := r.word(x); err != nil {
			return Request{}, reject("%s: %v", p.Name, err)
		}
	}
	return r, nil
}

// word returns the command's word for a parameter of this request.
func (r Request) word(p Param) (string, error) {
	v, given := r.Params[p.Name]
	if !given {
		v = p.Default
	}
	if v == nil {
		return "", fmt.Errorf("%s is missing: give it %s", p.Name, p.Doc)
	}
	return p.word(v)
}

// Manifest returns the request as its file has it.
func (r Request) Manifest() []byte {
	params := r.Params
	if params == nil {
		params = map[string]any{}
	}
	text, err := json.MarshalIndent(struct {
		SchemaVersion int            `json:"schema_version"`
		Preset        string         `json:"preset"`
		Params        map[string]any `json:"params"`
		Ref           string         `json:"ref"`
		RequestedBy   string         `json:"requested_by"`
		Nonce         string         `json:"nonce"`
	}{schemaVersion, r.Preset.Name, params, r.Ref, r.RequestedBy, r.Nonce}, "", "  ")
	if err != nil {
		panic(err) // only strings and numbers
	}
	return append(text, '\n')
}

// readManifest reads the manifest at name in the checkout. A link, a pipe and a large file are
// refused.
func readManifest(checkout *os.Root, name string) ([]byte, error) {
	if err := noLinks(checkout, path.Clean(name), false); err != nil {
		return nil, &RejectedError{quiet: true, Reason: "there is no manifest: " + err.Error()}
	}
	// Without O_NONBLOCK the open would wait at a pipe that took the file's place.
	f, err := checkout.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, reject("the manifest cannot be read: %v", errors.Unwrap(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Type() != fs.FileMode(0) {
		return nil, reject("the manifest is no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, reject("the manifest cannot be read: %v", err)
	}
	return text, nil
}

// decodeManifest reads the manifest's object and the object of its parameters. encoding/json would
// accept the last of two equal keys, keys in other cases, and what follows the object.
func decodeManifest(text []byte) (map[string]any, error) {
	switch {
	case len(text) > maxManifest:
		return nil, fmt.Errorf("it is larger than %d bytes", maxManifest)
	case !utf8.Valid(text):
		return nil, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	fields, err := decodeObject(d, func(name string) bool { return name == "params" })
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows its object")
	}
	for name := range fields {
		if !slices.Contains(manifestFields, name) {
			return nil, fmt.Errorf("it has the unknown field %.80q", name)
		}
	}
	return fields, nil
}

// decodeObject reads an object of strings, numbers and booleans. A value may be an object of the
// same kind only if nested allows it.
func decodeObject(d *json.Decoder, nested func(name string) bool) (map[string]any, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	return decodeFields(d, nested)
}

// decodeFields is decodeObject after the brace.
func decodeFields(d *json.Decoder, nested func(name string) bool) (map[string]any, error) {
	fields := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, errors.New("it is no JSON")
		}
		name := key.(string) // a key is a string, or Token fails
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("it has %.80q twice", name)
		}
		value, err := d.Token()
		switch delim, isDelim := value.(json.Delim); {
		case err != nil:
			return nil, errors.New("it is no JSON")
		case value == nil:
			return nil, fmt.Errorf("%.80q is null", name)
		case isDelim && (delim != '{' || !nested(name)):
			return nil, fmt.Errorf("%.80q must not be a list or an object", name)
		case isDelim:
			value, err = decodeFields(d, func(string) bool { return false })
			if err != nil {
				return nil, err
			}
		}
		fields[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("it is no JSON")
	}
	return fields, nil
}
