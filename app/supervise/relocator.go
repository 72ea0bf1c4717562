package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/mod/semver"

	"tandem/app/home"
)

// A Relocator offers to move a bundle into a folder of applications. Until then, Tandem creates
// nothing that would point at the bundle.
type Relocator struct {
	Bundle   string
	Location Location // of Bundle
	Folders  []string // of applications, the best first
	Note     string   // path of the file that records a refusal

	Ask  func(question string) bool
	Open func(path string) error // opens the moved bundle after this process has ended
	Log  *slog.Logger

	rename func(from, to string) error // nil is os.Rename
}

// existing returns the first folder that already has a Tandem, or "".
func (m Relocator) existing() string {
	for _, folder := range m.Folders {
		if _, err := os.Lstat(filepath.Join(folder, appName)); err == nil {
			return folder
		}
	}
	return ""
}

// question asks whether to move, and says what the move replaces in the folder there.
func (m Relocator) question(there string) string {
	const why = "\n\nFrom where it is now it cannot start at login, and the tandem command cannot be linked."
	if there == "" {
		return "Move Tandem to the Applications folder?" + why
	}
	ours, theirs := versionOf(m.Bundle), versionOf(filepath.Join(there, appName))
	switch {
	case ours == "" || theirs == "":
		return fmt.Sprintf("Replace the Tandem in %s with this one?", there) + why
	case semver.Compare("v"+theirs, "v"+ours) > 0:
		return fmt.Sprintf("Replace Tandem %s in %s with this older one, %s?",
			theirs, there, ours) + why
	}
	return fmt.Sprintf("Replace Tandem %s in %s with this one, %s?", theirs, there, ours) + why
}

// Offer asks the user whether to move, if there is a reason, once for each place. It records a
// refusal, except for a place that the system will remove. First it repairs what an interrupted
// move left.
//
// If moved is true, the bundle was copied and will be opened, and this process has to end. An error
// is a message for the user.
func (m Relocator) Offer() (moved bool, err error) {
	if m.Location == NoBundle {
		return false, nil
	}
	for _, folder := range m.Folders {
		repairMoves(m.Log, folder)
	}
	if m.Location == Installed {
		return false, nil
	}
	if refused, err := os.ReadFile(m.Note); err == nil && string(refused) == m.Bundle {
		return false, nil
	}
	there := m.existing()
	if !m.Ask(m.question(there)) {
		if m.Location == Translocated {
			return false, nil
		}
		if err := home.WritePrivate(m.Note, m.Bundle); err != nil {
			return false, fmt.Errorf("that Tandem stays where it is cannot be remembered: %w", err)
		}
		return false, nil
	}
	path, err := m.move(there)
	if _, lost := errors.AsType[*LostError](err); lost {
		return false, err // it says where the old bundle is
	} else if err != nil {
		return false, fmt.Errorf("this Tandem was not moved to Applications: %w", err)
	}
	if err := m.Open(path); err != nil {
		return false, fmt.Errorf("this Tandem was copied to %s: open it there: %w", path, err)
	}
	return true, nil
}

// move copies the bundle into the folder there, if the question named one. In another folder it
// would be a second Tandem. If the question named no folder, move takes the first that works.
func (m Relocator) move(there string) (string, error) {
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
				m.Log.Warn(
					"Tandem was moved, but not to the first folder",
					"path", path, "error", errors.Join(errs...))
			}
			return path, nil
		}
		errs = append(errs, err)
		if _, lost := errors.AsType[*LostError](err); lost {
			break // another Tandem was installed meanwhile; the user has to know
		}
	}
	return "", errors.Join(errs...)
}
