package models

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"tandem/models/hub"
	"tandem/models/nn"
	"tandem/storage/disk"
)

// Names of files that are read in more than one place.
const (
	tokenizerFile       = "tokenizer.json"
	tokenizerConfigFile = "tokenizer_config.json"
)

// Bounds of the files that are read whole, in bytes. The largest published tokenizer.json has 33
// MB, the largest index 10 MB. All other files have less than a tenth of their bound.
const (
	maxTokenizerBytes       = 64 << 20 // tokenizer.json
	maxTokenizerConfigBytes = 16 << 20 // tokenizer_config.json, which may list added tokens
	maxFileBytes            = 4 << 20  // any other file but the weights
)

// maxBytesOf returns the bound of a file.
func maxBytesOf(name string) int64 {
	switch name {
	case tokenizerFile:
		return maxTokenizerBytes
	case indexFile:
		return hub.MaxIndexBytes
	case tokenizerConfigFile:
		return maxTokenizerConfigBytes
	}
	return maxFileBytes
}

// readJSON returns a file of JSON that a Python program wrote. NaN and Infinity become
// [nn.NonFinite]. The error wraps fs.ErrNotExist if there is none.
func readJSON(fsys fs.FS, name string) ([]byte, error) {
	text, err := readFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return hub.PythonJSON(text, nn.NonFinite), nil
}

// oneOrMore is a value, a list of values or null in JSON.
type oneOrMore[T any] []T

// UnmarshalJSON parses 2, [2, 3] or null.
func (l *oneOrMore[T]) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]T)(l))
	}
	var one *T
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	if one != nil {
		*l = oneOrMore[T]{*one}
	}
	return nil
}

// tokenIDs is one id or a list.
type tokenIDs = oneOrMore[int32]

// readFile returns the whole of a small file. The error wraps fs.ErrNotExist if there is none.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := openFile(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := maxBytesOf(name)
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, unread(name, err)
	}
	if int64(len(text)) > limit {
		return nil, errorf(CodeInvalid, "%s is larger than %d MiB", name, limit>>20)
	}
	return text, nil
}

// openFile opens a file of a model. An error that wraps fs.ErrNotExist or fs.ErrInvalid is the file
// system's own.
func openFile(fsys fs.FS, name string) (fs.File, error) {
	f, err := fsys.Open(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return f, err
	}
	if kind, ok := errors.AsType[*disk.KindError](err); ok {
		return nil, errorf(CodeInvalid, "%s is %s, not a file; download the model again", name,
			kind.What)
	}
	return nil, unread(name, err)
}

// unread returns the error of a file or a folder that cannot be read.
func unread(name string, err error) error {
	if _, silent := errors.AsType[*disk.SilentError](err); silent {
		return errorf(CodeNotFound,
			"its folder does not answer; look whether its disk is connected, and try again")
	}
	return errorf(CodeInvalid, "can't read %s: %w", name, err)
}

func missingFile(name string) error {
	return errorf(CodeIncomplete, "%s is missing; copy it into the folder, "+
		"or download the model again if it comes from the hub", name)
}
