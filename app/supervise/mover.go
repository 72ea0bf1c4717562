package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// A Mover offers to put a bundle that lies elsewhere into a folder of applications,
// before anything else that outlives the run is offered.
type Mover struct {
	Bundle  string
	Place   Place    // of Bundle
	Folders []string // of applications, the best first
	Note    string   // path of the file that remembers a refusal

	Ask  func(question string) bool
	Open func(path string) error // the moved bundle, once this process has ended
	Log  *slog.Logger
}

// question asks whether to move, and says what that replaces.
func (m Mover) question() string {
	const why = "\n\nFrom where it is now it cannot start at login, and the tandem command cannot be linked."
	for _, folder := range m.Folders {
		there := filepath.Join(folder, filepath.Base(m.Bundle))
		if _, err := os.Lstat(there); err != nil {
			continue
		}
		ours, theirs := versionOf(m.Bundle), versionOf(there)
		switch {
		case ours == "" || theirs == "":
			return fmt.Sprintf("Replace the Tandem in %s with this one?", folder) + why
		case compareVersions(theirs, ours) > 0:
			return fmt.Sprintf("Replace Tandem %s in %s with this older one, %s?", theirs, folder, ours) + why
		}
		return fmt.Sprintf("Replace Tandem %s in %s with this one, %s?", theirs, folder, ours) + why
	}
	return "Move Tandem to the Applications folder?" + why
}

// Offer asks where there is reason to, and once for each place: a refusal is
// remembered, but for a place that the system will take away. moved says that the
// bundle was copied and will be opened, and that this process has to end.
func (m Mover) Offer() (moved bool, err error) {
	if m.Place != Elsewhere && m.Place != Translocated {
		return false, nil
	}
	if refused, err := os.ReadFile(m.Note); err == nil && string(refused) == m.Bundle {
		return false, nil
	}
	if !m.Ask(m.question()) {
		if m.Place == Translocated {
			return false, nil
		}
		return false, errors.Join(os.MkdirAll(filepath.Dir(m.Note), 0o700), os.WriteFile(m.Note, []byte(m.Bundle), 0o600))
	}
	var errs []error
	for _, folder := range m.Folders {
		path, err := Move(m.Log, m.Bundle, folder)
		if err == nil {
			if len(errs) > 0 {
				m.Log.Warn("Tandem was moved, but not where it was to go first", "path", path, "error", errors.Join(errs...))
			}
			return true, m.Open(path)
		}
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}
