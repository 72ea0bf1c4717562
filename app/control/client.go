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
	"net/url"
	"path"
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

// State asks what the process is doing.
func (c *Client) State(ctx context.Context) (State, error) {
	return call[State](ctx, c, http.MethodGet, "/app/state", nil)
}

// Watch yields the state at once and after each change, at most twice a second. It ends with ctx,
// or with an error when the process stops serving.
func (c *Client) Watch(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		resp, err := c.do(ctx, http.MethodGet, "/app/state", nil, "text/event-stream")
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

// Load makes a registered model the choice and waits until it is loaded.
func (c *Client) Load(ctx context.Context, id string) (State, error) {
	return call[State](ctx, c, http.MethodPost, "/app/load", LoadRequest{id})
}

// Unload frees a model in memory, or all of them if the id is empty.
func (c *Client) Unload(ctx context.Context, id string) (State, error) {
	return call[State](ctx, c, http.MethodPost, "/app/unload", UnloadRequest{id})
}

// Models lists the registry.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	list, err := call[struct{ Models []Model }](ctx, c, http.MethodGet, "/app/models", nil)
	return list.Models, err
}

// Memory returns what each registered model needs, or why it cannot be loaded.
func (c *Client) Memory(ctx context.Context) (Memory, error) {
	return call[Memory](ctx, c, http.MethodGet, "/app/memory", nil)
}

// ModelSettings returns what is set for a registered model.
func (c *Client) ModelSettings(ctx context.Context, id string) (ModelSettingsState, error) {
	return call[ModelSettingsState](ctx, c, http.MethodGet,
		"/app/model-settings?model="+url.QueryEscape(id), nil)
}

// SetDrafting turns all drafts of a model on or off, for requests that do not say, and returns the
// depth that was set before. On sets the given depth, and nil adapts it. A model that is on or off
// already keeps its depth. Other settings of the model stay.
func (c *Client) SetDrafting(ctx context.Context, id string, on bool, depth *int) (before *int, err error) {
	now, err := c.ModelSettings(ctx, id)
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
	_, err = call[ModelSettingsState](ctx, c, http.MethodPost, "/app/model-settings", now.Settings)
	return before, err
}

// Found returns the models that lie in the folders that are searched, registered or not.
func (c *Client) Found(ctx context.Context) (Found, error) {
	return call[Found](ctx, c, http.MethodGet, "/app/found", nil)
}

// AddModel registers a folder or a GGUF file.
func (c *Client) AddModel(ctx context.Context, r AddRequest) (Model, error) {
	return call[Model](ctx, c, http.MethodPost, "/app/models", r)
}

// RemoveModel takes a model off the list, and deletes from the disk what Tandem downloaded.
func (c *Client) RemoveModel(ctx context.Context, id string) (Removal, error) {
	if path.Clean("/"+id) != "/"+id { // the route would be another
		return Removal{}, Errorf(CodeModelNotFound,
			"The model %q is not registered. `tandem models list` lists the registered models.", id)
	}
	// An id may hold slashes, and anything else a folder's name may.
	route := (&url.URL{Path: "/app/models/" + id}).EscapedPath()
	return call[Removal](ctx, c, http.MethodDelete, route, nil)
}

// Drafter says what drafts for a model, after setting it if r names one.
func (c *Client) Drafter(ctx context.Context, r DrafterRequest) (Drafter, error) {
	return call[Drafter](ctx, c, http.MethodPost, "/app/drafter", r)
}

// Run returns one row of the history, with its rounds.
func (c *Client) Run(ctx context.Context, id int64) (Run, error) {
	return call[Run](ctx, c, http.MethodGet, fmt.Sprintf("/app/runs/%d", id), nil)
}

// Insights returns the figures of today.
func (c *Client) Insights(ctx context.Context) (Insights, error) {
	return call[Insights](ctx, c, http.MethodGet, "/app/insights", nil)
}

// CancelRun ends a run in flight. Its client gets what was generated so far.
func (c *Client) CancelRun(ctx context.Context, id int64) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, fmt.Sprintf("/app/runs/%d/cancel", id),
		struct{}{})
	return err
}

// ResumeRun completes the answer of a run that was cut off. The answer is a stream in the form of
// the run's own route; the caller closes its body.
func (c *Client) ResumeRun(ctx context.Context, id int64) (*http.Response, error) {
	return c.Do(ctx, http.MethodPost, fmt.Sprintf("/app/runs/%d/resume", id), map[string]any{
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
		"return_token_ids": true,
	})
}

// VerifyRun computes the answer of a run again, and compares.
func (c *Client) VerifyRun(ctx context.Context, id int64) (Replayed, error) {
	return call[Replayed](ctx, c, http.MethodPost, fmt.Sprintf("/app/runs/%d/verify", id),
		VerifyRequest{})
}

// Checkpoint returns a checkpoint by its id or its name.
func (c *Client) Checkpoint(ctx context.Context, name string) (Checkpoint, error) {
	return call[Checkpoint](ctx, c, http.MethodGet, CheckpointPath(name), nil)
}

// ChangeCheckpoint names, pins or unpins a checkpoint.
func (c *Client) ChangeCheckpoint(ctx context.Context, name string,
	change CheckpointChange) (Checkpoint, error) {
	return call[Checkpoint](ctx, c, http.MethodPost, CheckpointPath(name), change)
}

// DeleteCheckpoint deletes a checkpoint; with all, the ones that go on from it too.
func (c *Client) DeleteCheckpoint(ctx context.Context, name string, all bool) (Deleted, error) {
	return call[Deleted](ctx, c, http.MethodDelete,
		fmt.Sprintf("%s?all=%t", CheckpointPath(name), all), nil)
}

// VerifyCheckpoint reads the file of a checkpoint whole.
func (c *Client) VerifyCheckpoint(ctx context.Context, name string) (Integrity, error) {
	return call[Integrity](ctx, c, http.MethodPost, CheckpointPath(name)+"/verify", struct{}{})
}

// Forget deletes state and history.
func (c *Client) Forget(ctx context.Context, r ForgetRequest) (Forgotten, error) {
	return call[Forgotten](ctx, c, http.MethodPost, "/app/forget", r)
}

// ForgetTexts deletes what is remembered of the texts of the client with a key; 0 is all clients
// without one.
func (c *Client) ForgetTexts(ctx context.Context, key int64) (Forgotten, error) {
	id := "none"
	if key > 0 {
		id = fmt.Sprint(key)
	}
	return call[Forgotten](ctx, c, http.MethodDelete, "/app/texts/"+id, nil)
}

// Settings returns the settings in force.
func (c *Client) Settings(ctx context.Context) (SettingsState, error) {
	return call[SettingsState](ctx, c, http.MethodGet, "/app/settings", nil)
}

// ChangeSettings makes all of a change, or none of it.
func (c *Client) ChangeSettings(ctx context.Context, change SettingsChange) (SettingsState, error) {
	return call[SettingsState](ctx, c, http.MethodPost, "/app/settings", change)
}

// SetPort moves the endpoint to a port; 0 is the one that was asked for before.
func (c *Client) SetPort(ctx context.Context, port int) (State, error) {
	return call[State](ctx, c, http.MethodPost, "/app/port", PortRequest{port})
}

// Keys lists the keys.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	list, err := call[struct{ Keys []Key }](ctx, c, http.MethodGet, "/app/keys", nil)
	return list.Keys, err
}

// AddKey makes a key.
func (c *Client) AddKey(ctx context.Context, r KeyRequest) (NewKey, error) {
	return call[NewKey](ctx, c, http.MethodPost, "/app/keys", r)
}

// DeleteKey deletes a key.
func (c *Client) DeleteKey(ctx context.Context, id int64) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, fmt.Sprintf("/app/keys/%d", id), nil)
	return err
}

// Log returns the latest lines of the log, the oldest first.
func (c *Client) Log(ctx context.Context) ([]LogLine, error) {
	list, err := call[struct{ Lines []LogLine }](ctx, c, http.MethodGet, "/app/log", nil)
	return list.Lines, err
}

// SaveReport writes a Diagnosis into the user's folder for downloads.
func (c *Client) SaveReport(ctx context.Context) (Saved, error) {
	return call[Saved](ctx, c, http.MethodPost, "/app/report", struct{}{})
}

// ExportSettings writes the settings, without secrets, into the user's folder for downloads.
func (c *Client) ExportSettings(ctx context.Context) (Saved, error) {
	return call[Saved](ctx, c, http.MethodPost, "/app/settings/export", struct{}{})
}

// CommandLine says whether the command line tool can be called by its name.
func (c *Client) CommandLine(ctx context.Context) (CommandLine, error) {
	return call[CommandLine](ctx, c, http.MethodGet, "/app/command-line", nil)
}

// LinkCommandLine makes a link by which it can be called.
func (c *Client) LinkCommandLine(ctx context.Context) (CommandLine, error) {
	return call[CommandLine](ctx, c, http.MethodPost, "/app/command-line", struct{}{})
}

// Updates returns what is known of newer versions. It asks no other machine.
func (c *Client) Updates(ctx context.Context) (Updates, error) {
	return call[Updates](ctx, c, http.MethodGet, "/app/updates", nil)
}

// CheckUpdates asks the feed for the newest version.
func (c *Client) CheckUpdates(ctx context.Context) (Updates, error) {
	return call[Updates](ctx, c, http.MethodPost, "/app/updates", struct{}{})
}

// CheckpointPath returns the route of a checkpoint. For a name that no checkpoint can have it
// returns the route of none.
func CheckpointPath(name string) string {
	if name == "" || strings.Trim(name, ".") == "" || strings.ContainsAny(name, "/\\") {
		name = "-"
	}
	return "/app/checkpoints/" + url.PathEscape(name)
}

// SessionCode asks for a code that opens the page with a session.
func (c *Client) SessionCode(ctx context.Context) (SessionCode, error) {
	return call[SessionCode](ctx, c, http.MethodPost, "/app/session", struct{}{})
}

// Pull downloads a model and registers it. It calls progress for every event. When ctx ends, the
// download stops, and a later pull resumes it.
func (c *Client) Pull(ctx context.Context, r PullRequest, progress func(Progress)) (Model, error) {
	resp, err := c.Do(ctx, http.MethodPost, "/app/pull", r)
	if err != nil {
		return Model{}, err
	}
	defer resp.Body.Close()
	for data, err := range Events(resp.Body) {
		if e, ok := errors.AsType[*Error](err); ok {
			return Model{}, e // its text names the model
		}
		if err != nil {
			return Model{}, fmt.Errorf("pull %s: %w", r.ID, err)
		}
		var p Progress
		if err := json.Unmarshal(data, &p); err != nil {
			return Model{}, fmt.Errorf("pull %s: %w", r.ID, err)
		}
		if p.Model != nil {
			return *p.Model, nil
		}
		progress(p)
	}
	return Model{}, Errorf(CodeUnavailable,
		"The download of %s was cut off; pull it again to resume.", r.ID)
}

// Download begins or resumes a pull that goes on by itself. State.Downloads says how far it is.
func (c *Client) Download(ctx context.Context, r PullRequest) (State, error) {
	return call[State](ctx, c, http.MethodPost, "/app/downloads", r)
}

// PauseDownload stops a download. It stays in the state.
func (c *Client) PauseDownload(ctx context.Context, id string) (State, error) {
	return call[State](ctx, c, http.MethodPost, "/app/downloads/pause", PullRequest{ID: id})
}

// DropDownload stops a download and takes it out of the state.
func (c *Client) DropDownload(ctx context.Context, r DropRequest) (State, error) {
	return call[State](ctx, c, http.MethodPost, "/app/downloads/drop", r)
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
	req.Header.Set("User-Agent", "tandem")
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

func unavailable(err error) *Error {
	return &Error{Code: CodeUnavailable,
		Message: "Tandem is not running; start it with `tandem serve`.", Err: err}
}

func call[T any](ctx context.Context, c *Client, method, path string, body any) (v T, err error) {
	resp, err := c.Do(ctx, method, path, body)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return v, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return v, nil
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
			Param   string
			Code    Code
		}
	}
	if json.Unmarshal(b, &body) != nil || body.Error.Message == "" {
		return Errorf(CodeInternal, "Tandem answered %s.", otherwise)
	}
	return &Error{Code: body.Error.Code, Message: body.Error.Message, Param: body.Error.Param}
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
