package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// maxVariable bounds the value of a variable that becomes a word, in bytes.
const maxVariable = 4096

// expand returns the commands of a request as words, checked against this machine and checkout.
// report is the file of {report}. Nothing is started. The words of variables that are missing or
// wrong on this machine stay. lacks has an *IncapableError for each of these variables. Error:
// *RejectedError.
func (r Request) expand(checkout *os.Root, getenv func(string) string, report string,
) (commands [][]string, lacks []error, err error) {
	fields := map[string]string{"report": report}
	for _, p := range r.Preset.Params {
		word, err := r.word(p)
		if err != nil {
			return nil, nil, reject("%s: %v", r.Preset.Name, err)
		}
		fields[p.Name] = word
	}
	if err := r.check(checkout); err != nil {
		return nil, nil, err
	}
	for _, template := range r.Preset.Commands() {
		words := slices.Clone(template)
		for i, word := range words {
			if name, ok := variableOf(word); ok {
				value, err := variable(name, getenv)
				if err != nil {
					lacks = addLack(lacks, "%s: %v", r.Preset.Name, err)
					continue
				}
				words[i] = value
			} else if name, ok := fieldOf(word); ok {
				if words[i], ok = fields[name]; !ok {
					return nil, nil, reject("%s: the preset names the unknown field %s",
						r.Preset.Name, name)
				}
			}
		}
		commands = append(commands, words)
	}
	return commands, lacks, nil
}

// check looks at the files that the parameters name. Error: *RejectedError.
func (r Request) check(checkout *os.Root) error {
	for _, p := range r.Preset.Params {
		word, err := r.word(p)
		if err == nil && p.check != nil {
			err = p.check(checkout, word)
		}
		if err != nil {
			return reject("%s: %v", r.Preset.Name, err)
		}
	}
	return nil
}

// variable returns the value of a variable of the runner: a path that exists.
func variable(name string, getenv func(string) string) (string, error) {
	what, ok := variables[name]
	if !ok {
		return "", fmt.Errorf("no preset may read the variable %s", name)
	}
	value := getenv(name)
	switch {
	case value == "":
		return "", fmt.Errorf("set %s on the Mac to %s; `tandem-lab bridge setup` does", name, what)
	case len(value) > maxVariable || strings.ContainsFunc(value, unicode.IsControl):
		return "", fmt.Errorf("%s is no path; set it to %s", name, what)
	case !filepath.IsAbs(value):
		return "", fmt.Errorf("%s must be an absolute path; set it to %s", name, what)
	}
	if _, err := os.Stat(value); err != nil {
		return "", fmt.Errorf("%s leads to nothing; set it to %s", name, what)
	}
	return value, nil
}

// passed are the variables that commands get. Others may hold tokens and passwords.
var passed = []string{"HOME", "USER", "LOGNAME", "PATH", "TMPDIR", "LANG", "LC_ALL", "TZ",
	"XDG_CACHE_HOME", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "CARGO_HOME", "RUSTUP_HOME",
	"DEVELOPER_DIR", "SDKROOT", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "TANDEM_HOME",
	"RUNNER_TRACKING_ID"} // with the last one, GitHub's runner finds and ends what a job leaves running

// commandEnv returns the environment of commands. The address of a proxy is left out if it may hold
// a password, which an @ follows.
func commandEnv(getenv func(string) string) []string {
	var env []string
	for _, name := range passed {
		value := getenv(name)
		if value == "" || strings.HasSuffix(name, "PROXY") && strings.Contains(value, "@") {
			continue
		}
		env = append(env, name+"="+value)
	}
	return env
}
