package api

import (
	"tandem/app/control"
	"tandem/app/wire"
	"tandem/engine"
)

// MaxPerClient limits the requests that one client may have in flight and waiting. Each of several
// continuations that are generated at once counts as one. The limit is half of an engine's queue,
// so no client fills the queue alone.
const MaxPerClient = engine.MaxQueue / 2

// limitClient sets how many requests a run counts as for its client. It replaces the number before.
// The error refuses the run if the client would then have too many.
func (a *API) limitClient(u *Run, requests int) error {
	a.inFlight.mu.Lock()
	defer a.inFlight.mu.Unlock()
	n := requests
	for _, other := range a.inFlight.runs {
		if other != u && other.client == u.client {
			n += other.claimed
		}
	}
	if n > MaxPerClient {
		return control.Errorf(wire.CodeTooMany,
			"This client would have %d requests in flight and waiting, where %d are allowed; each "+
				"of several continuations counts. Send it again later, or give the program its own "+
				"key: programs of one name without keys share the limit.", n, MaxPerClient).Advise(control.ToAddKey)
	}
	u.claimed = requests
	return nil
}
