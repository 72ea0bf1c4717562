package server

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// Keys let programs in.
type Keys interface {
	// Keys lists them, the oldest first.
	Keys(context.Context) ([]control.Key, error)
	// AddKey makes a key. The error is CodeInvalid if another key has the name.
	AddKey(context.Context, control.KeyRequest) (control.NewKey, error)
	// DeleteKey deletes a key. The error is CodeInvalid for the last key while the settings require
	// one. It is CodeKeyNotFound for an unknown key.
	DeleteKey(ctx context.Context, id int64) error

	// FindKey returns the name of the key that a program shows, and records its use.
	FindKey(secret string) (name string, ok bool)
	// HasKeys reports whether there is any.
	HasKeys() bool
}

// checkKey returns the name of the key that a request shows, if it is one of ours. It refuses a
// request that needs a key and has none. Where no key is needed any value will do, because editors
// insist on sending one.
func (s *Server) checkKey(d *door, r *http.Request) (name string, err error) {
	shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	shown = cmp.Or(shown, r.Header.Get("X-Api-Key"), r.Header.Get("Api-Key"))
	if shown != "" {
		if name, ok := s.services.Keys.FindKey(shown); ok {
			return name, nil
		}
	}
	local := isLocal(r)
	switch {
	case !local, r.URL.Path == "/metrics" && s.services.Keys.HasKeys():
	case d.RequireKey && isStandard(r.URL.Path):
	default:
		return "", nil
	}
	if local && s.sessions.valid(shown) { // the page
		return "", nil
	}
	if shown == "" {
		return "", control.Errorf(control.CodeUnauthorized,
			"This needs a key: make one in the settings of Tandem, and send it as Authorization: "+
				"Bearer KEY.")
	}
	return "", control.Errorf(control.CodeUnauthorized,
		"This key is not known; make one in the settings of Tandem.")
}

// keys is the body of GET /app/keys.
type keys struct {
	Keys []control.Key `json:"keys"`
}

func (s *Server) keys(ctx context.Context) (keys, error) {
	list, err := s.services.Keys.Keys(ctx)
	return keys{listOf(list)}, err
}

// addKey makes a key. Its answer has the secret, so no cache may keep it.
func (s *Server) addKey(w http.ResponseWriter, r *http.Request) error {
	q, err := read[control.KeyRequest](s, w, r)
	if err != nil {
		return err
	}
	k, err := s.services.Keys.AddKey(r.Context(), q)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return wire.WriteJSON(w, k)
}

func (s *Server) deleteKey(ctx context.Context, id keyID) (nothing, error) {
	return nothing{}, s.services.Keys.DeleteKey(ctx, int64(id))
}
