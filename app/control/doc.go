// Package control is the language of Tandem's control routes (/app/...): the
// Go types of what they take and answer, the codes of their errors, and a
// Client that speaks it over the Unix socket in the home folder.
//
// Opening the socket is the authority: it lies in a folder only its owner may
// enter, so the client carries no token. The command line, the menu and the
// window use this package; package server answers with the same types. The
// JSON names of Model and Run are the columns of the database's tables.
//
//	c := control.Dial(home)
//	defer c.Close()
//	state, err := c.State(ctx)
//
// The state is a stream as well, of merge patches (RFC 7396): evanphx/json-patch
// makes and applies them, for null, absence and arrays each have their rule.
//
// A Client may be used by several goroutines at once.
package control
