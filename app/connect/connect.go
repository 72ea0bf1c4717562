package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/settings"
	"tandem/storage"
	"tandem/storage/disk"
)

const (
	// placeholderKey is a placeholder for the user's key.
	placeholderKey = "YOUR-TANDEM-KEY"

	// hostOfContainers is the name of the host machine inside Docker and similar containers.
	hostOfContainers = "host.docker.internal"

	// maxCompared limits how many bytes of a client's file are compared. Our files are smaller.
	maxCompared = 64 << 10
)

// Connections are the clients and their files. Its methods may be called by many goroutines.
type Connections struct {
	db       *storage.DB
	home     *home.Home
	settings *settings.Store
	keys     *settings.Keys
	state    func() control.State
}

// New returns the Connections of a home folder. state returns where the endpoint is and what it
// serves.
func New(db *storage.DB, dir *home.Home, store *settings.Store, keys *settings.Keys,
	state func() control.State) *Connections {
	return &Connections{db: db, home: dir, settings: store, keys: keys, state: state}
}

// Connect lists the clients, each with its text and the state of its file, and says when each was
// last seen.
func (n *Connections) Connect(ctx context.Context) (control.Connect, error) {
	c, e, err := n.endpoint(ctx)
	if err != nil {
		return c, err
	}
	for _, x := range clients() {
		c.Connections = append(c.Connections, n.connection(x, e))
	}
	seen, err := n.db.Runs.Clients(ctx)
	c.Seen = append(c.Seen, seen...)
	return c, err
}

// endpoint returns what every client needs.
func (n *Connections) endpoint(ctx context.Context) (control.Connect, Endpoint, error) {
	st, set := n.state(), n.settings.Current()
	rows, err := n.db.Models.List(ctx)
	if err != nil {
		return control.Connect{}, Endpoint{}, err
	}
	c := control.Connect{
		BaseURL: cmp.Or(st.Address, fmt.Sprintf("http://127.0.0.1:%d",
			cmp.Or(set.Port, control.DefaultPort))) + "/v1",
		Model: st.Choice, NeedsKey: set.RequireKey, Longer: []control.LongerModel{},
		Seen: []control.SeenClient{},
	}
	c.ContainerURL = strings.Replace(c.BaseURL, "127.0.0.1", hostOfContainers, 1)
	length := 0
	for _, r := range rows {
		if r.ID == st.Choice {
			length = r.ContextLength
		}
	}
	c.Context = st.ContextOf(st.Choice, length)
	for _, r := range rows {
		if n := st.ContextOf(r.ID, r.ContextLength); n > c.Context && r.Kind == "" && r.Source != storage.SourcePocket {
			c.Longer = append(c.Longer, control.LongerModel{ID: r.ID, Context: n})
		}
	}
	slices.SortStableFunc(c.Longer,
		func(x, y control.LongerModel) int { return cmp.Compare(y.Context, x.Context) })
	e := Endpoint{BaseURL: c.BaseURL, Key: control.Alias, Model: control.Alias, Context: c.Context}
	if c.NeedsKey {
		e.Key = placeholderKey
	}
	return c, e, nil
}

// connection describes a client and compares its file.
func (n *Connections) connection(x client, e Endpoint) control.Connection {
	c := control.Connection{ID: x.id, Name: x.name, Where: x.where, Text: x.text(e),
		Context: x.context}
	if x.file == "" {
		return c
	}
	c.File = n.home.Path(home.ConnectFolder, x.id, x.file)
	if x.use != nil {
		c.Use = x.use(quoted(c.File), quoted(filepath.Dir(c.File)))
	} else {
		c.Use = x.command(e, filepath.Dir(c.File)).line()
	}
	text, err := readStart(c.File, maxCompared)
	switch {
	case err != nil: // the file is missing or unreadable; writing it shows which
	case text == n.textFor(x, e, text):
		c.Written = control.WrittenCurrent
	default:
		c.Written = control.WrittenStale
		if named := endpointIn.FindString(text); named != "" && named != e.root() {
			c.Endpoint = named
		}
	}
	return c
}

// textFor returns the text for a client's file, given the file's text before. A valid key stays,
// even where no key is needed, because its secret is shown only once. A deleted key is removed.
func (n *Connections) textFor(x client, e Endpoint, before string) string {
	for _, key := range writtenKey.FindAllString(before, -1) {
		if _, ok := n.keys.Find(key); ok {
			e.Key = key
			break
		}
	}
	return x.text(e)
}

// writtenKey finds the keys that a user put into a file; see settings.Keys.
var writtenKey = regexp.MustCompile(`\b` + settings.KeyPrefix + `[a-z2-7]{26,}\b`)

// endpointIn finds the address in a file.
var endpointIn = regexp.MustCompile(`http://[A-Za-z0-9.\[\]:-]+:[0-9]+`)

func readStart(path string, limit int64) (string, error) {
	f, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit))
	return string(b), err
}

// WriteConnection writes the file of the client with that id, and returns its new state. The file
// is replaced completely or not at all, and a valid key in it stays. Errors: CodeInvalid for an id
// without a file, CodeFolder if the file cannot be written.
func (n *Connections) WriteConnection(ctx context.Context, id string) (control.Connection, error) {
	_, endpoint, err := n.endpoint(ctx)
	if err != nil {
		return control.Connection{}, err
	}
	all := clients()
	i := slices.IndexFunc(all, func(x client) bool { return x.id == id })
	if i < 0 {
		return control.Connection{}, control.Errorf(control.CodeInvalid,
			"There is no client %q; GET /app/connect lists them.", id)
	}
	c := n.connection(all[i], endpoint)
	if c.File == "" {
		return c, control.Errorf(control.CodeInvalid,
			"%s reads no such file; copy its settings instead.", c.Name)
	}
	before, _ := readStart(c.File, maxCompared) // "" if it cannot be read
	text := n.textFor(all[i], endpoint, before)
	if err := home.WritePrivate(c.File, text); err != nil {
		reason := err
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			reason = e.Err
		}
		return c, &control.Error{Code: control.CodeFolder,
			Message: fmt.Sprintf("%s cannot be written: %v.", c.File, reason), Err: err}
	}
	c.Written, c.Endpoint = control.WrittenCurrent, ""
	return c, nil
}
