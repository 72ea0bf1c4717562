// Package control is the language of Tandem's control routes (/app/...). It holds the Go types of
// requests and answers, and the codes of errors. routes.go is the table of the routes: a [Route] is a
// value with the types of what it takes and what it answers. Package server registers a handler for
// each, and [Call] calls them by a Client, over the Unix socket in the home folder.
//
// Opening the socket is the authority: it is in a folder that only its owner may enter, so the
// client carries no token. The command line, the menu and the window use this package. Package
// server answers with the same types. What is sent as it is stored is in package record.
//
//	c := control.Dial(home)
//	defer c.Close()
//	state, err := control.Ask(ctx, c, control.GetState)
//	state, err = control.Call(ctx, c, control.LoadModel, control.LoadRequest{Model: id})
//
// The state is a stream as well: the whole first, then merge patches (RFC 7396). evanphx/json-patch
// makes and applies them, because null, absence and arrays each have a rule of their own.
//
// An error says in its message what happened and what to do, in words that suit a terminal and the
// window. Commands are apart from it, in the table of advice.go.
//
// Texts and amounts that people read in several places are written here once: see [ByteSize],
// [Plural] and [Printable].
//
// A Client may be used by several goroutines at once.
package control
