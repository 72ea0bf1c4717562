package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// maxEvent bounds the data of one event.
const maxEvent = 32 << 20 // bytes

// A Client calls the process that serves a home folder, over its socket.
type Client struct {
	http *http.Client
}

// Dial returns a client for a home folder. It connects with the first call. Where no process
// serves, that call returns CodeUnavailable.
func Dial(home string) *Client { return dial(SocketPath(home)) }

// DialMenu returns a client for the menu bar's door in a home folder.
func DialMenu(home string) *Client { return dial(MenuPath(home)) }

func dial(path string) *Client {
	d := net.Dialer{Timeout: 2 * time.Second}
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			err := checkOwner(filepath.Dir(path))
			if errors.Is(err, fs.ErrNotExist) {
				err = unavailable(err)
			}
			if err != nil {
				return nil, err
			}
			return d.DialContext(ctx, "unix", path)
		},
	}}}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Watch yields the state at once and after each change, at most twice a second. It ends with ctx,
// or with an error when the process stops serving.
func (c *Client) Watch(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		resp, err := c.do(ctx, GetState.Method, GetState.Path, nil, "text/event-stream")
		if err != nil {
			yield(State{}, err)
			return
		}
		defer resp.Body.Close()
		var f Follower
		for data, err := range Events(resp.Body) {
			var st State
			if err == nil {
				st, err = f.Next(data)
			}
			if !yield(st, err) || err != nil {
				return
			}
		}
		yield(State{}, Errorf(CodeUnavailable, "Tandem stopped serving."))
	}
}

// SetDrafting turns all drafts of a model on or off, for requests that do not say, and returns the
// depth that was set before. On sets the given depth, and nil adapts it. A model that is on or off
// already keeps its depth. Other settings of the model stay.
func (c *Client) SetDrafting(ctx context.Context, id string, on bool, depth *int) (before *int, err error) {
	now, err := Call(ctx, c, GetModelSettings, id)
	if err != nil {
		return nil, err
	}
	before = now.Settings.Depth
	if drafts := before == nil || *before > 0; drafts == on {
		return before, nil
	}
	if now.Settings.Depth = depth; !on {
		now.Settings.Depth = new(0)
	}
	_, err = Call(ctx, c, SetModelSettings, now.Settings)
	return before, err
}

// ResumeRun completes the answer of a run that was cut off. The answer is a stream in the form of
// the run's own route; the caller closes its body.
func (c *Client) ResumeRun(ctx context.Context, id int64) (*http.Response, error) {
	path, err := ResumeRun.URL(id)
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, ResumeRun.Method, path, map[string]any{
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
		"return_token_ids": true,
	})
}

// BranchCheckpoint goes on from the text of a checkpoint. The body and the answer are those of
// /v1/completions, but a prompt is added to the text; the caller closes the answer's body.
func (c *Client) BranchCheckpoint(ctx context.Context, name string, body any) (*http.Response,
	error) {
	path, err := BranchCheckpoint.URL(name)
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, BranchCheckpoint.Method, path, body)
}

// Pull downloads a model and registers it. It calls progress for every event. When ctx ends, the
// download stops, and a later pull resumes it.
func (c *Client) Pull(ctx context.Context, r PullRequest, progress func(Progress)) (Model, error) {
	cut := Errorf(CodeUnavailable, "The download of %s was cut off; pull it again to resume.", r.ID)
	return follow(ctx, c, PullModel, r, cut, func(p Progress) *Model {
		if p.Model == nil {
			progress(p)
		}
		return p.Model
	})
}

// follow calls a route that answers with events. It calls visit with each until that returns what the
// last event has. cut is the error of a stream that ends before.
func follow[In, Event, Out any](ctx context.Context, c *Client, route Route[In, Event], in In,
	cut *Error, visit func(Event) *Out) (out Out, err error) {
	resp, err := c.Do(ctx, route.Method, route.Path, in)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	for data, err := range Events(resp.Body) {
		if e, ok := errors.AsType[*Error](err); ok {
			return out, e // it says what failed
		}
		var event Event
		if err == nil {
			err = json.Unmarshal(data, &event)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", route.Path, err)
		}
		if last := visit(event); last != nil {
			return *last, nil
		}
	}
	return out, cut
}

// Do sends body as JSON and returns the answer. The caller closes its body. A status other than 2xx
// is an *Error. Do serves the standard routes too.
func (c *Client) Do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	return c.do(ctx, method, path, body, "")
}

// do is Do with the media type to accept; empty accepts any.
func (c *Client) do(ctx context.Context, method, path string, body any,
	accept string) (*http.Response, error) {
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://tandem"+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	req.Header.Set("User-Agent", CommandLineAgent)
	resp, err := c.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			return nil, e
		}
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			return nil, unavailable(err)
		}
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	return nil, errorOf(b, resp.Status)
}

// NotRunning reports whether an error says that no process serves the home folder.
func NotRunning(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeUnavailable
}

func unavailable(err error) *Error {
	return &Error{Code: CodeUnavailable, Message: "Tandem is not running.", Advice: ToServe, Err: err}
}

// errorBody writes what errorOf reads.
func errorBody(e *Error) []byte {
	b, err := json.Marshal(map[string]any{"error": map[string]string{"message": e.Message,
		"type": "server_error", "code": string(e.Code)}})
	if err != nil {
		panic(err) // strings only
	}
	return b
}

// errorOf reads the body of an error answer, or of an error event.
func errorOf(b []byte, otherwise string) *Error {
	var body struct {
		Error struct {
			Message string
			Advice  string
			Param   string
			Code    Code
		}
	}
	if json.Unmarshal(b, &body) != nil || body.Error.Message == "" {
		return Errorf(CodeInternal, "Tandem answered %s.", otherwise)
	}
	return &Error{Code: body.Error.Code, Param: body.Error.Param, Advice: body.Error.Advice,
		Message: strings.TrimSuffix(body.Error.Message, " "+body.Error.Advice)}
}

// Events yields the data of each server-sent event of a stream of ours. An error event ends it with
// an *Error, [DONE] without one.
func Events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			switch {
			case !ok: // a comment, or the empty line after an event
			case string(data) == "[DONE]":
				return
			case bytes.HasPrefix(data, []byte(`{"error":{`)):
				yield(nil, errorOf(data, strings.TrimSpace(string(data))))
				return
			case !yield(data, nil):
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}
