package server

import (
	"context"
	"net/http"
	"slices"
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

	// FindKey returns the key that a program shows, and records its use.
	FindKey(secret string) (key control.Key, ok bool)
	// HasKeys reports whether there is any.
	HasKeys() bool
}

// keyRoutes answer for Keys.
type keyRoutes struct{ Keys }

func addKeys(to *controlRoutes, of Keys) {
	k := keyRoutes{of}
	handle(to, control.ListKeys, ask(k.list))
	stream(to, control.AddKey, k.add)
	handle(to, control.DeleteKey, done(of.DeleteKey))
}

func (k keyRoutes) list(ctx context.Context) (control.KeyList, error) {
	list, err := k.Keys.Keys(ctx)
	return control.KeyList{Keys: list}, err
}

// add makes a key. Its answer has the secret, so no cache may keep it.
func (k keyRoutes) add(w http.ResponseWriter, r *http.Request, q control.KeyRequest) error {
	key, err := k.AddKey(r.Context(), q)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return wire.WriteJSON(w, key)
}

// bearer returns the secret of an Authorization header. The name of the scheme may have any case.
func bearer(header string) (secret string, ok bool) {
	scheme, secret, ok := strings.Cut(header, " ")
	return strings.TrimSpace(secret), ok && strings.EqualFold(scheme, "Bearer")
}

// shownKeys returns what a request shows as keys, in each header that vendors' programs use. Some
// programs send a placeholder in one and the key in another.
func shownKeys(r *http.Request) (shown []string) {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key"} {
		for _, value := range r.Header.Values(name) {
			if secret, ok := bearer(value); ok {
				value = secret
			}
			if value != "" {
				shown = append(shown, value)
			}
		}
	}
	return shown
}

// checkKey returns the key that a request shows, if it is one of ours. It refuses a request that
// needs a key and has none. Where no key is needed any value will do, because editors
// insist on sending one.
func (s *Server) checkKey(d *door, r *http.Request) (key control.Key, err error) {
	shown := shownKeys(r)
	for _, secret := range shown {
		if key, ok := s.services.Keys.FindKey(secret); ok {
			return key, nil
		}
	}
	local := isLocal(r)
	switch {
	case !local, r.URL.Path == "/metrics" && s.services.Keys.HasKeys():
	case d.RequireKey && isStandard(r.URL.Path):
	default:
		return key, nil
	}
	if local && slices.ContainsFunc(shown, s.sessions.valid) { // the page
		return key, nil
	}
	if shown == nil {
		return key, control.Errorf(control.CodeUnauthorized,
			"This needs a key: make one in the settings of Tandem, and send it as Authorization: "+
				"Bearer KEY.")
	}
	return key, control.Errorf(control.CodeUnauthorized,
		"This key is not known; make one in the settings of Tandem.")
}
