package models

import (
	"io/fs"

	"tandem/models/hub"
	"tandem/models/nn"
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
	maxIndexBytes           = 32 << 20 // model.safetensors.index.json
	maxTokenizerConfigBytes = 16 << 20 // tokenizer_config.json, which may list added tokens
	maxFileBytes            = 4 << 20  // any other file but the weights
)

// maxBytesOf returns the bound of a file.
func maxBytesOf(name string) int64 {
	switch name {
	case tokenizerFile:
		return maxTokenizerBytes
	case indexFile:
		return maxIndexBytes
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
