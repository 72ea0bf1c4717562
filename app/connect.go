package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/settings"
)

const (
	// ownKey stands for a key that a person has to fill in.
	ownKey = "YOUR-TANDEM-KEY"

	// mostWritten is how much of a client's file is compared; ours are smaller.
	mostWritten = 64 << 10
)

// Connect implements server.Connections.
func (a *App) Connect(ctx context.Context) (control.Connect, error) {
	c, o, err := a.offer(ctx)
	if err != nil {
		return c, err
	}
	for _, x := range clients() {
		c.Connections = append(c.Connections, a.connection(x, o))
	}
	return c, nil
}

// offer returns what clients are told, before any of them is named.
func (a *App) offer(ctx context.Context) (control.Connect, offer, error) {
	st, settings := a.State(), a.settings.Current()
	rows, err := a.db.Models(ctx)
	if err != nil {
		return control.Connect{}, offer{}, err
	}
	c := control.Connect{
		BaseURL: cmp.Or(st.Address, fmt.Sprintf("http://127.0.0.1:%d", cmp.Or(settings.Port, control.DefaultPort))) + "/v1",
		Model:   st.Choice, NeedsKey: settings.RequireKey, Longer: []control.LongerModel{},
	}
	limited := func(n int) int {
		if st.ContextLimit > 0 {
			return min(n, st.ContextLimit)
		}
		return n
	}
	for _, r := range rows {
		if r.ID == st.Choice {
			c.Context = limited(r.ContextLength)
		}
	}
	if l := st.Resident(st.Choice); l != nil {
		c.Context = l.ContextLength
	}
	for _, r := range rows {
		if n := limited(r.ContextLength); n > c.Context {
			c.Longer = append(c.Longer, control.LongerModel{ID: r.ID, Context: n})
		}
	}
	slices.SortStableFunc(c.Longer, func(x, y control.LongerModel) int { return cmp.Compare(y.Context, x.Context) })
	o := offer{base: c.BaseURL, key: control.Alias, context: c.Context}
	if c.NeedsKey {
		o.key = ownKey
	}
	return c, o, nil
}

// connection describes a client, and looks at its file.
func (a *App) connection(x client, o offer) control.Connection {
	c := control.Connection{ID: x.id, Name: x.name, Where: x.where, Text: x.text(o), Context: x.context}
	if x.file == "" {
		return c
	}
	c.File = a.home.Path(home.ConnectFolder, x.id, x.file)
	c.Use = x.use(quoted(c.File), quoted(filepath.Dir(c.File)))
	text, err := readStart(c.File, mostWritten)
	switch {
	case err != nil: // there is none, or none that can be read, which writing again tells
	case text == a.textBehind(x, o, text):
		c.Written = control.WrittenCurrent
	default:
		c.Written = control.WrittenStale
		if named := endpointIn.FindString(text); named != "" && named != o.root() {
			c.Endpoint = named
		}
	}
	return c
}

// textBehind is what a client's file is to have where it had a text before. A key
// that counts stays, whether one is asked for or not, as nobody can be told it
// again; one that was deleted goes.
func (a *App) textBehind(x client, o offer, before string) string {
	for _, key := range writtenKey.FindAllString(before, -1) {
		if _, ok := a.keys.Find(key); ok {
			o.key = key
			break
		}
	}
	return x.text(o)
}

// writtenKey finds the keys that a person filled into a file, see AddKey.
var writtenKey = regexp.MustCompile(`\b` + settings.KeyPrefix + `[a-z2-7]{26,}\b`)

// endpointIn finds the address that a file names.
var endpointIn = regexp.MustCompile(`http://[A-Za-z0-9.\[\]:-]+:[0-9]+`)

func readStart(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most))
	return string(b), err
}

// quoted is a path as a word of a shell.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// WriteConnection implements server.Connections. The file is replaced whole or
// not at all; a key in it stays if it counts.
func (a *App) WriteConnection(ctx context.Context, id string) (control.Connection, error) {
	_, o, err := a.offer(ctx)
	if err != nil {
		return control.Connection{}, err
	}
	all := clients()
	i := slices.IndexFunc(all, func(x client) bool { return x.id == id })
	if i < 0 {
		return control.Connection{}, control.Errorf(control.CodeInvalid, "There is no client %q; GET /app/connect lists them.", id)
	}
	c := a.connection(all[i], o)
	if c.File == "" {
		return c, control.Errorf(control.CodeInvalid, "%s reads no such file; copy its settings instead.", c.Name)
	}
	before, _ := readStart(c.File, mostWritten) // nothing of what cannot be read
	text := a.textBehind(all[i], o, before)
	if err := home.WriteOwn(c.File, text); err != nil {
		reason := err
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			reason = e.Err
		}
		return c, &control.Error{Code: control.CodeFolder, Message: fmt.Sprintf("%s cannot be written: %v.", c.File, reason), Err: err}
	}
	c.Written, c.Endpoint = control.WrittenCurrent, ""
	return c, nil
}
