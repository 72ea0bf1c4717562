package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// Limits of what Load accepts. The largest vocabularies in use have about 262,000 tokens, 580,000
// merges and a file of 33 MB.
const (
	maxFileBytes  = 64 << 20
	maxVocab      = 2 << 20
	maxMerges     = 4 << 20
	maxAdded      = 1 << 17
	maxAddedBytes = 512     // of one added token
	maxAddedNodes = 1 << 20 // of the trees in which added tokens are searched for
	maxStages     = 64      // of one pipeline, sequences flattened
	maxDepth      = 16      // of sequences in sequences
	maxPrepend    = 64      // bytes
	maxGrowth     = 64      // how many times longer all stages together may make a text
	maxSpecials   = 64      // ids the post-processor adds on one side
	maxPattern    = 4096
	maxStrip      = 64
)

// file is tokenizer.json. The components stay raw until their type is known.
type file struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   json.RawMessage `json:"added_tokens"` // a list; its members may have others
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

func parseFile(data []byte) (*file, error) {
	if len(data) > maxFileBytes {
		return nil, tooLarge("tokenizer.json",
			"it has %d bytes; the limit is %d", len(data), maxFileBytes)
	}
	if !utf8.Valid(data) {
		return nil, invalid("tokenizer.json", "it is not UTF-8; download the file again")
	}
	var f file
	if err := strict(data, &f); err != nil {
		return nil, invalid("tokenizer.json", "%v; download the file again", err)
	}
	if f.Version != "" && f.Version != "1.0" {
		return nil, unsupported("tokenizer.json", "version "+f.Version)
	}
	return &f, nil
}

// parseAdded reads added_tokens.
func parseAdded(raw json.RawMessage) ([]addedToken, error) {
	var list []addedToken
	if absent(raw) {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, invalid("added_tokens", "%v; download the file again", err)
	}
	if len(list) > maxAdded {
		return nil, tooLarge("added_tokens",
			"there are %d; the limit is %d", len(list), maxAdded)
	}
	return list, nil
}

// strict decodes one JSON value and refuses fields that it does not know, as the reference does at
// the top of a file.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("it ends too early")
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// absent reports whether a component is missing or null.
func absent(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// typeOf reads a component's "type". kind is the component's name in the file.
func typeOf(kind string, raw json.RawMessage) (string, error) {
	var head struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return "", invalid(kind, "%v", err)
	}
	if head.Type == nil {
		return "", unsupported(kind, "a component without a type")
	}
	return *head.Type, nil
}

// component decodes the options of one component. Members that it does not have are passed over, as
// the reference does.
func component(where string, raw json.RawMessage, v any) error {
	err := json.Unmarshal(raw, v)
	if _, ours := errors.AsType[*Error](err); err == nil || ours {
		return err
	}
	return unsupported(where, "this form ("+err.Error()+")")
}

// patternJSON is the pattern of Split and Replace.
type patternJSON struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}
