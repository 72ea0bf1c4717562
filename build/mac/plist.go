package mac

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// parsePlist decodes a property list in XML. Dictionaries become maps, arrays slices, strings and
// numbers strings, and truth values bools. Two entries of one name are an error here, although
// Apple's reader ignores one.
func parsePlist(text []byte) (map[string]any, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("there is no <plist>: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "plist" {
			continue
		}
		value, err := plistValue(d)
		if err != nil {
			return nil, err
		}
		dict, ok := value.(map[string]any)
		if !ok {
			return nil, errors.New("the <plist> holds no <dict>")
		}
		return dict, nil
	}
}

// errPlistEnd means that an element was closed where a value could have come.
var errPlistEnd = errors.New("the element ends")

// plistStart returns the next element's start.
func plistStart(d *xml.Decoder) (xml.StartElement, error) {
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			return t, nil
		case xml.EndElement:
			return xml.StartElement{}, errPlistEnd
		case xml.CharData:
			if s := strings.TrimSpace(string(t)); s != "" {
				return xml.StartElement{}, fmt.Errorf("text between elements: %q", s)
			}
		}
	}
}

// plistValue decodes the next value.
func plistValue(d *xml.Decoder) (any, error) {
	start, err := plistStart(d)
	if err != nil {
		return nil, err
	}
	switch start.Name.Local {
	case "dict":
		dict := map[string]any{}
		for {
			key, err := plistStart(d)
			if errors.Is(err, errPlistEnd) {
				return dict, nil
			}
			if err != nil {
				return nil, err
			}
			var name string
			if key.Name.Local != "key" {
				return nil, fmt.Errorf("<%s> where a <key> belongs", key.Name.Local)
			}
			if err := d.DecodeElement(&name, &key); err != nil {
				return nil, err
			}
			if _, twice := dict[name]; twice {
				return nil, fmt.Errorf("the key %s is there twice", name)
			}
			if dict[name], err = plistValue(d); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	case "array":
		list := []any{}
		for {
			value, err := plistValue(d)
			if errors.Is(err, errPlistEnd) {
				return list, nil
			}
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
	case "true", "false":
		return start.Name.Local == "true", d.Skip()
	case "string", "integer", "real", "date", "data":
		var s string
		err := d.DecodeElement(&s, &start)
		return s, err
	}
	return nil, fmt.Errorf("a property list holds no <%s>", start.Name.Local)
}
