package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

const (
	resultsFolder = Folder + "/results" // a folder for each nonce
	// rejectedFolder holds the summary of a request that did not run. No nonce has this name.
	rejectedFolder = "_rejected"
	summaryFile    = "summary.json"
	reportName     = "report.json"

	maxSummary = 1 << 20 // bytes
)

// Exit codes of a run other than 0, done, and 1, failed.
const (
	ExitRejected  = 2
	ExitIncapable = 90
	ExitStopped   = 130 // by a signal to the runner
)

// A Summary is the result of a run, beside the logs.
type Summary struct {
	SchemaVersion int            `json:"schema_version"`
	Preset        string         `json:"preset"`
	Params        map[string]any `json:"params"`
	Nonce         string         `json:"nonce"`
	Ref           string         `json:"ref"` // hash of the commit whose files ran
	RequestedBy   string         `json:"requested_by"`
	Machine       string         `json:"machine"` // that ran it
	Runner        string         `json:"runner"`  // version of the tandem-lab that ran the commands
	Started       time.Time      `json:"started"`
	Commands      []Ran          `json:"commands"`

	// The gate's exit code; nil if it did not run.
	EvidenceGateExitCode *int `json:"evidence_gate_exit_code"`
	// What the run exited with: 0, 1, ExitRejected, ExitIncapable or ExitStopped. The code of a
	// command is in its Ran.
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error,omitempty"` // one sentence
}

// A Ran is one command that a run started.
type Ran struct {
	Argv     []string `json:"argv"`
	ExitCode int      `json:"exit_code"` // 128 more than the signal that ended it
	Seconds  float64  `json:"seconds"`
	Log      string   `json:"log"` // a file beside the summary
}

// fail records why a run failed. The first reason stays.
func (s *Summary) fail(code int, reason string) {
	if s.ExitCode == 0 {
		s.ExitCode, s.Error = code, reason
	}
}

// parseSummary reads a summary that came from another machine.
func parseSummary(text []byte) (*Summary, error) {
	if len(text) > maxSummary {
		return nil, fmt.Errorf("the summary is larger than %d bytes", maxSummary)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	s := &Summary{}
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("the summary cannot be read: %w", err)
	}
	if s.SchemaVersion != schemaVersion {
		return nil, fmt.Errorf("the summary has the schema %d, which this version does not know",
			s.SchemaVersion)
	}
	switch s.ExitCode {
	case 0, 1, ExitRejected, ExitIncapable, ExitStopped:
	default: // a process would turn 256 into 0
		return nil, fmt.Errorf("the summary has the exit code %d, which no run ends with", s.ExitCode)
	}
	return s, nil
}

// results is the folder of one run in the checkout.
type results struct {
	checkout *os.Root
	dir      string
}

// openResults makes the folder of a run. A link in its place is refused, because it could lead
// elsewhere.
func openResults(checkout *os.Root, name string) (results, error) {
	r := results{checkout, path.Join(resultsFolder, name)}
	for _, dir := range []string{Folder, resultsFolder, r.dir} {
		err := checkout.Mkdir(dir, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return r, fmt.Errorf("the folder of results cannot be made: %w", err)
		}
		if err := noLinks(checkout, dir, true); err != nil {
			return r, fmt.Errorf("the folder of results cannot be used: %w", err)
		}
	}
	return r, nil
}

// create opens a new file of the results.
func (r results) create(name string) (*os.File, error) {
	name = path.Join(r.dir, name)
	if err := r.checkout.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return r.checkout.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// save writes the summary, completely or not at all.
func (r results) save(s *Summary) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := r.create("new-" + summaryFile)
	if err != nil {
		return fmt.Errorf("the summary cannot be written: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the summary cannot be written: %w", err)
	}
	return r.checkout.Rename(path.Join(r.dir, "new-"+summaryFile), path.Join(r.dir, summaryFile))
}

// saveCut saves the summary that the client finds if this process is killed.
func (r results) saveCut(s *Summary) error {
	cut := *s
	cut.ExitCode, cut.Error = ExitStopped, "the runner was killed before the run was over"
	return r.save(&cut)
}

// has reports whether a file of the results exists and is regular.
func (r results) has(name string) bool {
	info, err := r.checkout.Lstat(path.Join(r.dir, name))
	return err == nil && info.Mode().IsRegular()
}

// Limits of what goes back to the client.
const (
	maxResultFiles = 64
	maxResultFile  = 32 << 20 // bytes
	maxResults     = 64 << 20 // bytes of all files
)

// resultName matches the names of files of results.
func resultName(name string) bool {
	return len(name) <= 100 && plainPath.MatchString(name) && path.Base(name) == name
}

// files reads what a run left, within the limits. Folders, links and other names are ignored.
func (r results) files() (map[string][]byte, error) {
	entries, err := fs.ReadDir(r.checkout.FS(), r.dir)
	if err != nil {
		return nil, fmt.Errorf("there are no results; `tandem-lab bridge run` makes them: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.Type().IsRegular() || !resultName(e.Name())
	})
	if len(entries) > maxResultFiles {
		return nil, fmt.Errorf("the results have %d files, at most %d go back", len(entries),
			maxResultFiles)
	}
	files, total := map[string][]byte{}, 0
	for _, e := range entries {
		f, err := r.checkout.Open(path.Join(r.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(f, maxResultFile+1))
		f.Close()
		if total += len(text); err == nil && (len(text) > maxResultFile || total > maxResults) {
			err = fmt.Errorf("%s is too large to go back", e.Name())
		}
		if err != nil {
			return nil, err
		}
		files[e.Name()] = text
	}
	return files, nil
}
