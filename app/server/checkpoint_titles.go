package server

import (
	"net/http"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// mostTitles is how many checkpoints are read at once for their titles.
const mostTitles = 100

// checkpointTitles answers with what the texts of some checkpoints are about.
// Whoever lists many asks for those that are looked at.
func (s *Server) checkpointTitles(w http.ResponseWriter, r *http.Request) error {
	out := control.CheckpointTitles{Titles: []control.CheckpointTitle{}}
	ids := strings.FieldsFunc(r.URL.Query().Get("ids"), func(c rune) bool { return c == ',' })
	if len(ids) > mostTitles {
		return wire.Invalid("ids", "ids may name %d checkpoints at most, not %d.", mostTitles, len(ids))
	}
	list, err := s.services.Checkpoints.CheckpointTitles(r.Context(), ids)
	if err != nil {
		return err
	}
	out.Titles = append(out.Titles, list...)
	return wire.WriteJSON(w, out)
}
