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

	rename func(from, to string) error // nil is os.Rename
}

// there is the first folder that has a Tandem already, empty if none has.
func (m Mover) there() string {
	for _, folder := range m.Folders {
		if _, err := os.Lstat(filepath.Join(folder, appName)); err == nil {
			return folder
		}
	}
	return ""
}

// question asks whether to move, and says what that replaces in the folder there.
func (m Mover) question(there string) string {
	const why = "\n\nFrom where it is now it cannot start at login, and the tandem command cannot be linked."
	if there == "" {
		return "Move Tandem to the Applications folder?" + why
	}
	ours, theirs := versionOf(m.Bundle), versionOf(filepath.Join(there, appName))
	switch {
	case ours == "" || theirs == "":
		return fmt.Sprintf("Replace the Tandem in %s with this one?", there) + why
	case compareVersions(theirs, ours) > 0:
		return fmt.Sprintf("Replace Tandem %s in %s with this older one, %s?", theirs, there, ours) + why
	}
	return fmt.Sprintf("Replace Tandem %s in %s with this one, %s?", theirs, there, ours) + why
}

// Offer asks where there is reason to, and once for each place: a refusal is
// remembered, but for a place that the system will take away. moved says that the
// bundle was copied and will be opened, and that this process has to end; an error is
// for a person to read. Before that it puts right what a move left that was cut short.
func (m Mover) Offer() (moved bool, err error) {
	if m.Place == NoBundle {
		return false, nil
	}
	for _, folder := range m.Folders {
		putRight(m.Log, folder)
	}
	if m.Place == Installed {
		return false, nil
	}
	if refused, err := os.ReadFile(m.Note); err == nil && string(refused) == m.Bundle {
		return false, nil
	}
	there := m.there()
	if !m.Ask(m.question(there)) {
		if m.Place == Translocated {
			return false, nil
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(m.Note), 0o700), os.WriteFile(m.Note, []byte(m.Bundle), 0o600)); err != nil {
			return false, fmt.Errorf("that Tandem stays where it is cannot be remembered: %w", err)
		}
		return false, nil
	}
	path, err := m.move(there)
	if _, lost := errors.AsType[*LostError](err); lost {
		return false, err // where it lies is what matters
	} else if err != nil {
		return false, fmt.Errorf("this Tandem was not moved to Applications: %w", err)
	}
	if err := m.Open(path); err != nil {
		return false, fmt.Errorf("this Tandem was copied to %s: open it there: %w", path, err)
	}
	return true, nil
}

// move puts the bundle into the folder there, where one was promised to be replaced:
// elsewhere it would be a second one. If none was, it goes into the first that takes it.
func (m Mover) move(there string) (string, error) {
	folders := m.Folders
	if there != "" {
		folders = []string{there}
	}
	rename := m.rename
	if rename == nil {
		rename = os.Rename
	}
	var errs []error
	for _, folder := range folders {
		path, err := move(rename, m.Log, m.Bundle, folder)
		if err == nil {
			if len(errs) > 0 {
				m.Log.Warn("Tandem was moved, but not where it was to go first", "path", path, "error", errors.Join(errs...))
			}
			return path, nil
		}
		errs = append(errs, err)
		if _, lost := errors.AsType[*LostError](err); lost {
			break // one came there meanwhile, and what became of it is to be told
		}
	}
	return "", errors.Join(errs...)
}
