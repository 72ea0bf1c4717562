package control

import "time"

// A Key lets a program call the endpoint from another machine, or from this one where keys are
// required. Its name is the client of its runs.
type Key struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at,omitzero"` // to the minute; zero = never
}

// KeyList is the answer of GET /app/keys.
type KeyList struct {
	Keys []Key `json:"keys"` // the oldest first
}

// KeyRequest makes a key: the body of POST /app/keys.
type KeyRequest struct {
	Name string `json:"name"`
}

// NewKey is the answer of POST /app/keys. The secret is told this once.
type NewKey struct {
	Key    Key    `json:"key"`
	Secret string `json:"secret"` // goes into Authorization: Bearer
}

// PortTaken says that another program has the endpoint's port.
type PortTaken struct {
	Port  int    `json:"port"`
	Owner string `json:"owner"`          // "another Tandem", "python3 (pid 812)", "another program"
	Next  int    `json:"next,omitempty"` // a port that was free; 0 = none was found
}

// PortRequest is the body of POST /app/port: the port to serve at. 0 is the one that was asked for
// before.
type PortRequest struct {
	Port int `json:"port,omitempty" min:"1" max:"65535"`
}
