package supervise

import (
	"errors"
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

	Ask  func() bool             // whether to move
	Open func(path string) error // the moved bundle, once this process has ended
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
	if !m.Ask() {
		if m.Place == Translocated {
			return false, nil
		}
		return false, errors.Join(os.MkdirAll(filepath.Dir(m.Note), 0o700), os.WriteFile(m.Note, []byte(m.Bundle), 0o600))
	}
	var errs []error
	for _, folder := range m.Folders {
		path, err := Move(m.Bundle, folder)
		if err == nil {
			return true, m.Open(path)
		}
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}
