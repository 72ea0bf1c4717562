package bridge

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Param is one value that a request may choose. Its value fills one whole word of a command.
type Param struct {
	Name    string
	Doc     string // one line, with its bounds
	Default any    // nil = a request must give it

	number bool // its value in a manifest is a number, otherwise a string
	// word checks a value of the manifest and returns it as a word of a command.
	word func(v any) (string, error)
	// check examines the file of the checkout that the value names. May be nil.
	check func(checkout *os.Root, word string) error
}

// integer is a number between least and most.
func integer(name, doc string, def, least, most int64) Param {
	return Param{
		Name: name, Doc: fmt.Sprintf("%s, %d to %d", doc, least, most),
		Default: json.Number(strconv.FormatInt(def, 10)), number: true,
		word: func(v any) (string, error) {
			number, ok := v.(json.Number)
			if !ok {
				return "", fmt.Errorf("%s must be a number", name)
			}
			n, err := strconv.ParseInt(number.String(), 10, 64)
			if err != nil || n < least || n > most || strconv.FormatInt(n, 10) != number.String() {
				return "", fmt.Errorf("%s must be a whole number from %d to %d", name, least, most)
			}
			return number.String(), nil
		},
	}
}

// choice is one of a few words.
func choice(name, doc, def string, options ...string) Param {
	list := strings.Join(options, ", ")
	return Param{
		Name: name, Doc: doc + ": " + list, Default: def,
		word: func(v any) (string, error) {
			text, ok := v.(string)
			if !ok || !slices.Contains(options, text) {
				return "", fmt.Errorf("%s must be one of %s", name, list)
			}
			return text, nil
		},
	}
}

// maxPath bounds a path in a manifest, in bytes.
const maxPath = 200

// plainPath matches paths without dots at the beginning of a name, spaces, dashes first, and roots.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)

// checkoutPath returns v as a path that cannot leave the checkout. It refuses dots in a row, which
// are a wildcard for go test. Its error says what the path names, with an example.
func checkoutPath(name, what string, v any) (string, error) {
	text, ok := v.(string)
	if !ok || len(text) > maxPath || !plainPath.MatchString(text) || path.Clean(text) != text ||
		strings.Contains(text, "..") {
		return "", fmt.Errorf("%s must be the path of %s in the checkout", name, what)
	}
	return text, nil
}

// folder is a folder of the checkout with Go tests. Its word is ./PATH, as go test takes it.
func folder(name, doc string) Param {
	return Param{
		Name: name, Doc: doc,
		word: func(v any) (string, error) {
			text, err := checkoutPath(name, "a folder such as engine/cache", v)
			return "./" + text, err
		},
		check: func(checkout *os.Root, word string) error {
			name := strings.TrimPrefix(word, "./")
			if err := noLinks(checkout, name, true); err != nil {
				return err
			}
			tests, err := fs.Glob(checkout.FS(), name+"/*_test.go")
			if err == nil && len(tests) == 0 {
				return fmt.Errorf("%s has no Go tests", name)
			}
			return err
		},
	}
}

// reportFile is a file of the checkout with a report.
func reportFile(name, doc string) Param {
	return Param{
		Name: name, Doc: doc,
		word: func(v any) (string, error) {
			text, err := checkoutPath(name, "a file such as reports/recall.json", v)
			if err == nil && path.Ext(text) != ".json" {
				err = fmt.Errorf("%s must end in .json", name)
			}
			return text, err
		},
		check: func(checkout *os.Root, word string) error { return noLinks(checkout, word, false) },
	}
}

// noLinks returns an error unless name exists in the checkout, as a folder or a regular file, with
// no symbolic link on the way. A link could lead a command to files of the machine.
func noLinks(checkout *os.Root, name string, dir bool) error {
	parts := strings.Split(name, "/")
	for i := range parts {
		upTo := path.Join(parts[:i+1]...)
		info, err := checkout.Lstat(upTo)
		switch last := i == len(parts)-1; {
		case err != nil:
			return fmt.Errorf("%s is not in the checkout", upTo)
		case (!last || dir) && !info.IsDir():
			return fmt.Errorf("%s is not a folder of the checkout", upTo)
		case last && !dir && !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a file of the checkout", upTo)
		}
	}
	return nil
}

// Read returns the manifest's value for a string of the command line.
func (p Param) Read(text string) any {
	if p.number {
		return json.Number(text)
	}
	return text
}
