// Package app wires Tandem together: it opens the rooms, applies a changed setting, and runs the
// listeners from start to drain. For `tandem doctor` it examines a home folder, also where nothing runs.
//
// One process serves a home folder at a time and holds its lock; see package home.
//
// # Rooms
//
// Each room owns its state and its lock, and knows only rooms above it in this list:
//
//   - home: the home folder, and the figures of the machine;
//   - settings: what is set, who decides it, and the keys;
//   - drafters: which drafter a model has;
//   - pool: the models in memory and their checkpoints. One goroutine owns them, and package eviction
//     decides what is loaded and unloaded;
//   - library: the models on disk;
//   - history: runs, chats, checkpoints and responses as people see them;
//   - endpoint: the listening sockets;
//   - connect: the settings of editors and agents;
//   - bench: what is measured;
//   - server: the routes. It gets each room as a small interface (services.go).
//
// # Lock order
//
// A caller that needs several takes them in this order: the lock of a change of settings, then a
// change of the pool, then the endpoint's lock. Library, history and connect hold no lock of their
// own while they call pool or endpoint. Three locks may be taken under any other, since no other is
// taken under them:
//
//   - the lock of the current settings (settings.Store.Current);
//   - that of the pool's view;
//   - App's own, which guards what App itself holds.
//
// # A changed setting
//
// ChangeSettings makes a whole change or none of it:
//
//   - It checks the change.
//   - Steps that can fail come next: writing files, moving the endpoint. Each can be undone.
//   - The database is last.
//   - After that nothing can fail, so the settings that a client reads are the ones that hold.
//
// With the flag --addr, the flag decides the port, and no other machine is let in. Without it a
// setting decides whether other machines are let in. That setting is refused while there is no key.
//
// # Benches
//
// The bench that a person starts in the window runs on separate engines, which borrow the
// weights. It counts as use of the model, and yields to requests:
//
//   - it measures only while no request is in flight;
//   - it repeats a measurement that a request disturbs;
//   - it ends when the model is to leave the memory.
//
// The same code measures for `tandem bench`, in a process that has nothing else to do.
//
// This package is a library. The commands read flags and the environment. golang.org/x/mod/semver
// compares versions.
package app
