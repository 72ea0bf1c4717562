package server

import (
	"context"
	"net/http"
	"strconv"

	"tandem/app/control"
	"tandem/app/wire"
)

// call returns the handler of a control route. It reads In, calls do, and answers with Out as JSON.
//
// A POST has the fields of In in its body; see wire.Decode. If In has the method readAddress, that
// reads first what the request says in its address.
func call[In, Out any](s *Server, do func(context.Context, In) (Out, error)) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		in, err := read[In](s, w, r)
		if err != nil {
			return err
		}
		out, err := do(r.Context(), in)
		if err != nil {
			return err
		}
		return wire.WriteJSON(w, out)
	}
}

// ask is call for a route without input.
func ask[Out any](s *Server, do func(context.Context) (Out, error)) wire.Handler {
	return call(s, func(ctx context.Context, _ nothing) (Out, error) { return do(ctx) })
}

// nothing is the body of requests without input, and of answers without output.
type nothing struct{}

// An inAddress request has input in its address.
type inAddress interface {
	readAddress(r *http.Request) error
}

// read reads In from a request.
func read[In any](s *Server, w http.ResponseWriter, r *http.Request) (in In, err error) {
	if a, ok := any(&in).(inAddress); ok {
		if err := a.readAddress(r); err != nil {
			return in, err
		}
	}
	if r.Method != http.MethodPost {
		return in, nil
	}
	f, err := s.api.ReadObject(w, r)
	if err != nil {
		return in, err
	}
	return in, wire.Decode(f, &in)
}

// A listOf is a list that is never null in JSON.
func listOf[T any](list []T) []T { return append([]T{}, list...) }

// A chatID is the id of a chat in a path.
type chatID struct {
	id int64
}

func (c *chatID) readAddress(r *http.Request) (err error) {
	c.id, err = strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || c.id < 1 {
		return control.Errorf(control.CodeNoChat, "There is no chat %q.",
			wire.Clip(r.PathValue("id")))
	}
	return nil
}

// A messageID is the id of a message of a chat in a path.
type messageID struct {
	chatID
	message int64
}

func (m *messageID) readAddress(r *http.Request) (err error) {
	if err := m.chatID.readAddress(r); err != nil {
		return err
	}
	m.message, err = strconv.ParseInt(r.PathValue("message"), 10, 64)
	if err != nil {
		return control.Errorf(control.CodeNoChat, "There is no message %q.",
			wire.Clip(r.PathValue("message")))
	}
	return nil
}

// A benchID is the id of a bench in a path.
type benchID int64

func (b *benchID) readAddress(r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return control.Errorf(control.CodeNoBench,
			"%q is no bench's id; a bench's id is a number.", wire.Clip(r.PathValue("id")))
	}
	*b = benchID(id)
	return nil
}

// A keyID is the id of a key in a path.
type keyID int64

func (k *keyID) readAddress(r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return control.Errorf(control.CodeKeyNotFound, "There is no key %s.",
			wire.Clip(r.PathValue("id")))
	}
	*k = keyID(id)
	return nil
}

// A textsOwner is whose remembered texts are meant in a path: the id of a key, or "none" for programs
// without a key, which is 0.
type textsOwner int64

func (o *textsOwner) readAddress(r *http.Request) error {
	if r.PathValue("id") == "none" {
		return nil
	}
	var key keyID
	if err := key.readAddress(r); err != nil {
		return err
	}
	if key <= 0 {
		return control.Errorf(control.CodeKeyNotFound, "There is no key %d.", key)
	}
	*o = textsOwner(key)
	return nil
}

// A pathID is an id in a path, whatever its text.
type pathID struct {
	id string
}

func (p *pathID) readAddress(r *http.Request) error {
	p.id = r.PathValue("id")
	return nil
}

// A checkpointRef is the id or the name of a checkpoint in a path.
type checkpointRef struct {
	ref   string
	whole bool // with its whole text
	all   bool // with the checkpoints that continue it
}

func (c *checkpointRef) readAddress(r *http.Request) error {
	query := r.URL.Query()
	*c = checkpointRef{ref: r.PathValue("name"), whole: query.Get("whole") == "true",
		all: query.Get("all") == "true"}
	return nil
}

// A modelQuery names a registered model in the query.
type modelQuery string

func (m *modelQuery) readAddress(r *http.Request) error {
	*m = modelQuery(r.URL.Query().Get("model"))
	return nil
}
