package server

import (
	"fmt"
	"net/http"
	"regexp"
	"time"

	"tandem/app/control"
	"tandem/app/wire"
)

// maxCheckpointName bounds a name, in bytes.
const maxCheckpointName = 64

// checkpointName is what a path can hold, and a command line.
var checkpointName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._-]{0,%d}$`, maxCheckpointName-1))

func (s *Server) checkpoints(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	q := control.CheckpointQuery{Model: query.Get("model"), Before: query.Get("before")}
	limit, err := queryNumber(query, "limit", control.MostCheckpoints)
	if err != nil {
		return err
	}
	q.Limit = int(limit)
	list, err := s.services.Checkpoints.Checkpoints(r.Context(), q)
	if err != nil {
		return err
	}
	list.Checkpoints = append([]control.Checkpoint{}, list.Checkpoints...) // none is a list too
	return wire.WriteJSON(w, list)
}

func (s *Server) oneCheckpoint(w http.ResponseWriter, r *http.Request) error {
	c, err := s.services.Checkpoints.Checkpoint(r.Context(), r.PathValue("name"), r.URL.Query().Get("whole") == "true")
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, c)
}

func (s *Server) changeCheckpoint(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	var change control.CheckpointChange
	if f.Raw("name") != nil {
		change.Name = new(f.String("name"))
		if name := *change.Name; f.Err == nil && name != "" && !checkpointName.MatchString(name) {
			f.Fail("name", "may have letters, digits, dots, dashes and underscores, at most %d, and begins with a letter or a digit.", maxCheckpointName)
		}
	}
	change.Pinned = wire.Optional(f, "pinned", f.Bool)
	if f.Err != nil {
		return f.Err
	}
	c, err := s.services.Checkpoints.ChangeCheckpoint(r.Context(), r.PathValue("name"), change)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, c)
}

func (s *Server) deleteCheckpoint(w http.ResponseWriter, r *http.Request) error {
	d, err := s.services.Checkpoints.DeleteCheckpoint(r.Context(), r.PathValue("name"), r.URL.Query().Get("all") == "true")
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, d)
}

func (s *Server) verifyCheckpoint(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.ReadObject(w, r); err != nil {
		return err
	}
	v, err := s.services.Checkpoints.VerifyCheckpoint(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, v)
}

func (s *Server) forget(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	q := control.ForgetRequest{Model: f.String("model"), Client: f.String("client"), Day: f.String("day")}
	if f.Err != nil {
		return f.Err
	}
	if err := checkForget(q); err != nil {
		return err
	}
	gone, err := s.services.Checkpoints.Forget(r.Context(), q)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, gone)
}

// checkForget refuses what is too much, and what is no day.
func checkForget(q control.ForgetRequest) error {
	if q == (control.ForgetRequest{}) {
		return wire.Invalid("model", "The field model is missing: name a model, a client or a day.")
	}
	if _, err := time.Parse(time.DateOnly, q.Day); q.Day != "" && err != nil {
		return wire.Invalid("day", "The field day must be a day such as 2026-11-22, not %q.", wire.Clip(q.Day))
	}
	return nil
}
