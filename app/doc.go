// Package app wires Tandem together: it opens the rooms, applies a changed setting, and runs the
// listeners from start to drain.
//
// One process serves a home folder at a time and holds its lock; see package home.
//
// # Rooms
//
// Each room owns its state and its lock, and knows only the rooms below it:
//
//   - home: the home folder, and the figures of the machine;
//   - settings: what is set, who decides it, and the keys;
//   - pool: the models in memory, with their drafters and checkpoints;
//   - library: the models on disk;
//   - history: runs, chats, checkpoints and responses as people see them;
//   - endpoint: the listening sockets;
//   - connect: the settings of editors and agents;
//   - bench: what is measured;
//   - server: the routes. It gets each room as a small interface (services.go).
//
// # Lock order
//
// Whoever takes several locks takes them in this order: settings, then pool, then endpoint, and the

// the other.
//
// # A changed setting
//
// ChangeSettings does a change completely or not at all. It checks the change first. Then come the
// steps that can fail, each of which can be undone: files, and moving the endpoint. The database is
// last. What follows cannot fail, so that what is shown is what holds.
//
// --addr decides the port, and that this machine alone is served. Whether other machines are let in
// is a setting otherwise, which is refused while there is no key.
//
// # Benches
//
// The bench that a person starts in the window runs on engines of its own, which borrow the weights.
// It does not count as use of the model:
//
//   - it measures only while no request is in flight;
//   - it repeats what a request disturbs;
//   - it ends when the model is to leave the memory.
//
// The same code measures for
// `tandem bench`, in a process that has nothing else to do.
//
// This is library code and no main: the commands read flags and the environment.
package app
