package server

import (
	"context"
	"net/http"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// maxTitles limits how many titles one request may ask for.
const maxTitles = 100

// titleQuery has the ids of GET /app/checkpoint-titles. A page that lists many checkpoints asks for
// the titles in sight.
type titleQuery []string

func (q *titleQuery) readAddress(r *http.Request) error {
	*q = strings.FieldsFunc(r.URL.Query().Get("ids"), func(c rune) bool { return c == ',' })
	if len(*q) > maxTitles {
		return wire.Invalid("ids",
			"ids may name %d checkpoints at most, not %d.", maxTitles, len(*q))
	}
	return nil
}

func (s *Server) checkpointTitles(ctx context.Context,
	q titleQuery) (control.CheckpointTitles, error) {
	list, err := s.services.Checkpoints.CheckpointTitles(ctx, q)
	return control.CheckpointTitles{Titles: listOf(list)}, err
}
