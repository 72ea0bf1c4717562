package server

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"tandem/app/control"
	"tandem/app/wire"
)

// maxCheckpointName bounds a name, in bytes.
const maxCheckpointName = 64

// checkpointName matches names that fit into a path and a command line.
var checkpointName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._-]{0,%d}$`,
	maxCheckpointName-1))

// A checkpointQuery has the filters of GET /app/checkpoints.
type checkpointQuery control.CheckpointQuery

func (q *checkpointQuery) readAddress(r *http.Request) error {
	query := r.URL.Query()
	q.Model, q.Before = query.Get("model"), query.Get("before")
	limit, err := queryNumber(query, "limit", control.MostCheckpoints)
	q.Limit = int(limit)
	return err
}

func (s *Server) checkpoints(ctx context.Context,
	q checkpointQuery) (control.CheckpointList, error) {
	list, err := s.services.Checkpoints.Checkpoints(ctx, control.CheckpointQuery(q))
	list.Checkpoints = listOf(list.Checkpoints)
	return list, err
}

func (s *Server) oneCheckpoint(ctx context.Context, c checkpointRef) (control.Checkpoint, error) {
	return s.services.Checkpoints.Checkpoint(ctx, c.ref, c.whole)
}

// A checkpointChange is a change of the checkpoint in the path.
type checkpointChange struct {
	checkpointRef
	control.CheckpointChange
}

func (s *Server) changeCheckpoint(ctx context.Context,
	c checkpointChange) (control.Checkpoint, error) {
	if c.Name != nil && *c.Name != "" && !checkpointName.MatchString(*c.Name) {
		return control.Checkpoint{}, wire.Invalid("name",
			"%s may have letters, digits, dots, dashes and underscores, at most %d, and begins with "+
				"a letter or a digit.", "name", maxCheckpointName)
	}
	return s.services.Checkpoints.ChangeCheckpoint(ctx, c.ref, c.CheckpointChange)
}

func (s *Server) deleteCheckpoint(ctx context.Context, c checkpointRef) (control.Deleted, error) {
	return s.services.Checkpoints.DeleteCheckpoint(ctx, c.ref, c.all)
}

func (s *Server) wouldDelete(ctx context.Context, c checkpointRef) (control.Deleted, error) {
	return s.services.Checkpoints.WouldDelete(ctx, c.ref, c.all)
}

func (s *Server) verifyCheckpoint(ctx context.Context, c checkpointRef) (control.Integrity, error) {
	return s.services.Checkpoints.VerifyCheckpoint(ctx, c.ref)
}

func (s *Server) forget(ctx context.Context, q control.ForgetRequest) (control.Forgotten, error) {
	if err := checkForget(q); err != nil {
		return control.Forgotten{}, err
	}
	return s.services.Checkpoints.Forget(ctx, q)
}

// A forgetQuery asks what control.ForgetRequest would forget.
type forgetQuery control.ForgetRequest

func (q *forgetQuery) readAddress(r *http.Request) error {
	v := r.URL.Query()
	*q = forgetQuery{Model: v.Get("model"), Client: v.Get("client"), Day: v.Get("day")}
	return checkForget(control.ForgetRequest(*q))
}

func (s *Server) wouldForget(ctx context.Context, q forgetQuery) (control.Forgotten, error) {
	return s.services.Checkpoints.WouldForget(ctx, control.ForgetRequest(q))
}

func (s *Server) forgetTexts(ctx context.Context, of textsOwner) (control.Forgotten, error) {
	return s.services.Checkpoints.ForgetTexts(ctx, int64(of))
}

// checkForget refuses a request that names nothing, and a day that is no date.
func checkForget(q control.ForgetRequest) error {
	if q == (control.ForgetRequest{}) {
		return wire.Invalid("model", "The field model is missing: name a model, a client or a day.")
	}
	if _, err := time.Parse(time.DateOnly, q.Day); q.Day != "" && err != nil {
		return wire.Invalid("day",
			"The field day must be a day such as 2026-11-22, not %q.", wire.Clip(q.Day))
	}
	return nil
}
