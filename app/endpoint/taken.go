package endpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"tandem/app/control"
)

// A TakenError says that another program has the endpoint's port.
type TakenError struct {
	Port  int
	Owner string // empty = not known
	Next  int    // a port that was free; 0 = none was found
	Err   error
}

// otherProgram is the owner's name if that is not known.
const otherProgram = "another program"

func (e *TakenError) Error() string {
	text := fmt.Sprintf("port %d is taken by %s; stop it and try again", e.Port,
		cmp.Or(e.Owner, otherProgram))
	if e.Next != 0 {
		text += fmt.Sprintf(", or use port %d", e.Next)
	}
	return text
}

func (e *TakenError) Unwrap() error { return e.Err }

// explore finds out who has the port, and which later port is free.
func (e *TakenError) explore(ctx context.Context, network bool) {
	const far = 20 // ports
	e.Owner = portOwner(ctx, e.Port)
	if isTandem(ctx, e.Port) {
		e.Owner = "another Tandem"
	}
	for port := e.Port + 1; port <= min(e.Port+far, 65535); port++ {
		if list, err := listenPort(Binding{port, network}); err == nil {
			for _, l := range list {
				l.Close()
			}
			e.Next = port
			return
		}
	}
}

// isTandem asks the endpoint on a port whether it is a Tandem.
func isTandem(ctx context.Context, port int) bool {
	const patience = time.Second // a program that listens there need not answer
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d/v1/models/%s", port, control.Alias)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	direct := &http.Transport{DisableKeepAlives: true} // no proxy
	resp, err := direct.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var model struct {
		OwnedBy string `json:"owned_by"`
	}
	body := json.NewDecoder(io.LimitReader(resp.Body, 4<<10))
	return body.Decode(&model) == nil && model.OwnedBy == control.Alias
}
