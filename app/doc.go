// Package app wires Tandem together: it owns the home folder, the database,
// the MLX thread and the model in memory, implements what the server asks for,
// and runs its listeners from start to drain.
//
// One process serves a home folder at a time and holds its lock; see [OpenHome].
// One model is in memory at a time. It is loaded when a request names it and
// stays until another takes its place or somebody unloads it; a model that
// answers requests is never taken away from them.
//
// Library code, no main: flags and environment are read by the commands.
package app
