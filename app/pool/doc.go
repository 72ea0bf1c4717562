// Package pool holds the models in memory: it loads, lends and unloads them.
//
// # From a name to a model
//
//  1. [Pool.Acquire] (acquire.go) reads the row of the name. The alias means the current model, after
//     any switch in progress.
//  2. If the view (view.go) has the model, the request takes it (users.go). This is the usual end.
//  3. Otherwise the request waits for the owner (owner.go), which carries out one change after the
//     other, and reads the row again: it may have changed meanwhile.
//  4. sizeOf (measure.go) measures the model and its drafter. Their files were inspected before, and
//     are read again only if they have changed.
//  5. [eviction.State.Load] decides what is unloaded for it, in which format and with which context it is
//     loaded, or why it is refused.
//  6. planLoad (make_room.go) lets no further request take the models to unload.
//  7. makeRoom waits until no request holds them, and until the sequences in flight of the others fit
//     their new shares. Then it frees them.
//  8. open (load.go) loads the weights, between the rounds of the models that answer.
//  9. Package drafters opens its drafter. One that cannot be used is left out; each answer and run
//     says why.
//  10. startEngine (engine.go) opens the store of its checkpoints and starts its engine.
//  11. The owner adds it to the list and divides the memory anew. If the load has failed, the models
//     that were unloaded for it come back (restore).
//  12. The request takes it, until it calls Release.
//
// A model stays in memory until its memory is needed, a person unloads it, it was idle for as long as
// the settings say (unload.go), or the machine is short of memory (pressure.go). A model that answers
// requests is never taken away from them. Package eviction has the rules.
//
// # Checkpoints
//
// The engine keeps what requests computed (package engine/checkpoint), in memory and in the home
// folder, unless Options.NoCheckpoints is set. checkpoint_store.go opens the store. Its files
// belong to the weights, their type and the device, and come back when the model is loaded again.
// checkpoint_index.go lists the files in the database, and says which to delete first.
// They may take as much as the settings say, else by the machine. If files cannot be written, the state
// has a warning, and requests go on.
//
// # Who owns what
//
// One goroutine, the owner, has the list of models, and nothing else reads or writes it. It publishes a
// copy for readers, the view. Requests that a model in memory can serve do not ask the owner, so a load
// does not hold them up. On the MLX thread the rounds of several engines take turns.
//
// A [Model] is held by requests from Acquire to Release. Measurements borrow it without holding it
// (lend.go): they end when it is unloaded, and requests always come first.
package pool
