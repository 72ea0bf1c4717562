package control

import "time"

// A Key lets a program in that calls the endpoint from another machine, or
// anywhere where one is asked for. Its name is told as the client of its runs.
type Key struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at,omitzero"` // to the minute; zero until it is
}

// KeyRequest makes a key: the body of POST /app/keys.
type KeyRequest struct {
	Name string `json:"name"`
}

// NewKey is the answer: the only time that the key itself is told.
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

// PortRequest is the body of POST /app/port: the port to serve at, 0 for the one
// that was asked for before.
type PortRequest struct {
	Port int `json:"port,omitempty"`
}
