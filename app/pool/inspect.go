package pool

import (
	"strings"

	"tandem/models"
	"tandem/storage"
)

// noChat returns why a model cannot chat though it has a chat template.
func (s *sizer) noChat(row storage.Model) string {
	if row.Source == storage.SourcePocket {
		return ""
	}
	found, err := s.Inspect(row.Path)
	if err != nil {
		return "" // why it cannot be loaded is told
	}
	return found.NoChat()
}

// inexact says what the weights of a model lose in memory: of the whole if it is loaded, else of a
// sample. Weights that a load would hold unpacked lose nothing.
func (p *Pool) inexact(row storage.Model, unpacked bool) string {
	losses, loaded := p.losses(row.ID)
	if !loaded && !unpacked && row.Source != storage.SourcePocket {
		s, _ := p.Inspect(row.Path) // why it cannot be loaded is told
		losses = s.Losses
	}
	return sayLosses(losses)
}

// sayLosses returns losses as one text, empty for none.
func sayLosses(losses []models.Loss) string {
	if losses == nil {
		return ""
	}
	var list []string
	for _, l := range losses {
		list = append(list, l.String())
	}
	return strings.Join(list, "; ") + " (a step is the rms of the file's own scales)"
}

// losses returns what a loaded model lost.
func (p *Pool) losses(id string) (_ []models.Loss, loaded bool) {
	m := find(p.look().models, id)
	if m == nil {
		return nil, false
	}
	return m.bundle.Losses, true
}

// filesOf returns the files of a model, which are read once until one of them changes.
func (s *sizer) filesOf(row storage.Model) (*models.Files, error) {
	if row.Source == storage.SourcePocket {
		return s.opened.Open(models.PocketID)
	}
	return s.opened.Open(row.Path)
}

// inspect returns what the headers of a model tell.
func (s *sizer) inspect(row storage.Model) (models.Summary, error) {
	files, err := s.filesOf(row)
	if err != nil {
		return models.Summary{}, err
	}
	return files.Summary()
}

// Inspect is [models.Inspect]. It reads a path again only if one of its files has changed.
func (s *sizer) Inspect(path string) (models.Summary, error) {
	return s.InspectBy(path, func() (*models.Files, error) { return models.Open(path) })
}

// InspectBy is Inspect with another function that opens the files at a path.
func (s *sizer) InspectBy(path string,
	open func() (*models.Files, error)) (models.Summary, error) {
	files, err := s.opened.OpenBy(path, open)
	if err != nil {
		return models.Summary{}, err
	}
	return files.Summary()
}
