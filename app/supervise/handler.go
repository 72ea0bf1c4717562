package supervise

import (
	"net/http"

	"tandem/app/control"
)

// AgainPath is where Handler takes a POST for Again.
const AgainPath = "/supervisor/again"

// Handler returns a handler for the page of whoever supervises without a menu: it
// passes requests on to next while there is a process to answer them, and
// otherwise says what became of it.
func (s *Supervisor) Handler(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("POST "+AgainPath, func(w http.ResponseWriter, _ *http.Request) {
		s.Again()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}")) // the page left
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		st := s.last.Load()
		switch {
		case r.URL.Path == AgainPath || st == nil:
		case st.Phase == Crashed:
			control.WriteError(w, control.Errorf(control.CodeCrashed, "Tandem's server ended %d times and is not started again by itself: %s", maxCrashes, st.Reason))
			return
		case st.Phase == Waiting:
			control.WriteError(w, control.Errorf(control.CodeUnavailable, "Tandem's server ended and is started again: %s", st.Reason))
			return
		}
		mux.ServeHTTP(w, r)
	})
}
