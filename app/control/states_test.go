package control

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The examples for the tests of the menu and the pages decode as answers of the routes.
func TestExamplesAreAnswersOfTheRoutes(t *testing.T) {
	for pattern, read := range map[string]func(d *json.Decoder) error{
		"states": func(d *json.Decoder) error { return d.Decode(new(State)) },
		"failures": func(d *json.Decoder) error {
			return d.Decode(&struct {
				Status int
				Error  struct {
					Message, Type string
					Param         *string
					Code          Code
				}
			}{})
		},
	} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := read(d); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
