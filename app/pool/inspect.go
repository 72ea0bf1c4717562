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

// Inspect is [models.Inspect]. It reads a folder again only if one of its files is another one.
func (s *sizer) Inspect(dir string) (models.Summary, error) {
	return s.InspectBy(dir, func() (models.Summary, error) { return models.Inspect(dir) })
}

// InspectBy is Inspect with another function to read the files at a path.
func (s *sizer) InspectBy(path string,
	read func() (models.Summary, error)) (models.Summary, error) {
	return s.summaries.Get(path, models.FileDates(path), read)
}
