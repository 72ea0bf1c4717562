// Package app wires Tandem together: it owns the home folder, the database,
// the MLX thread and the models in memory, implements what the server asks for,
// and runs its listeners from start to drain.
//
// One process serves a home folder at a time and holds its lock; see [OpenHome].
//
// # Models in memory
//
// A model is loaded when a request names it, or somebody chooses it, and stays until
// its place is needed, somebody unloads it, or nobody has used it for as long as is
// set; a model that answers requests is never taken away from them. Before a load what
// it needs is weighed against the machine's memory (see fit), beside what the models
// that are there need: their weights and a whole context each. Where that does not fit,
// models go that nobody uses, those first that are worth least (see worth), and none in
// vain: neither the choice, nor one that is to stay. A context that nobody asked for is
// rather cut, down to besideContext, than that an idle model goes; only that of the
// choice comes before idle models. What does not fit even so leaves what is in memory
// where it is. Only for the choice all others go in the end, once what they answer has
// ended. A switch takes the place of the choice before it. If a load fails, what went for
// it comes back.
//
// One change of what is in memory is made at a time (see changing). Models that it does
// not touch answer meanwhile; weights are read between their rounds. On the MLX thread
// the rounds of several engines take turns one by one. What the needs of all leave of the
// room is divided equally for further texts, as is the memory of checkpoints (see
// App.allot); before a load texts that were let in under another division end, and where
// that takes long the load is refused, unless it is the choice's, for other changes wait
// behind it.
//
// # Drafters
//
// What guesses ahead for a model is chosen per model and kept: a folder, none,
// or auto, which is the default. Auto takes, in this order, the drafter that is
// built in beside the pocket model; the folder drafter inside the model's own;
// a drafter in the hub's cache whose name is NAME-DFlash or NAME-DFlash-MORE,
// by whomever, for a model named NAME or NAME-MORE, the longest NAME first; or
// none. That is decided when the model is loaded, by where things lie, not by
// trying. Whether the two fit is then checked by the drafter's config.json and
// tensors, and for a smaller model by its tokens.
//
// A drafter that somebody names is loaded, or refused, at once. One that is
// found to be unusable as its model is loaded costs the model nothing: it is
// served without, and each answer and run says why.
//
// Where a drafter's checkpoint does not say how it is to be read, the readings
// are measured the first time, while the model is idle: one text is decoded
// plainly and each reading guesses along. The best is used from then on and
// kept with the figures. The embedded drafter needs none of it: it is read as
// it was trained.
//
// Looking up what the text has said before (n-grams) stands behind every
// drafter, and needs none.
//
// # Checkpoints
//
// The engine keeps what requests computed (package engine/checkpoint), in memory
// and in the home folder, unless Options.NoCheckpoints is set. Files belong to
// the weights, their type and the device; when a model is loaded again those of
// its kind come back. What is known of them is in the database: an index in this
// package tells it, and asks it which of them are missed least. How much they may
// take follows from the machine, unless Options say. Where they
// cannot be written the state has a warning, and requests notice nothing.
//
// # Benches
//
// The bench that a person starts while the model is served runs on engines of its
// own, which borrow the weights, and counts as nobody who uses the model: it
// measures only while no request is in flight, gives up what one disturbs, and ends
// when the model is to leave the memory. The same code measures for
// `tandem bench`, in a process that has nothing else to do.
//
// # Connect
//
// What clients are told of the endpoint is made here and not in the page, for
// their files are compared with what would be written now whether a page is open
// or not, and so that who has a session can have no other text written than that.
// The files lie in the home folder's connect; those of users are left alone.
//
// # Settings
//
// A setting is decided by a flag of serve, else by the environment, else by what
// somebody set, else by its default; control.SettingsState says by which. What a
// flag or the environment decides cannot be set meanwhile, and what was set before
// is there again without them. A change is checked, the endpoint is moved if it
// says so, and only then is it stored: it is done whole or not at all.
//
// --addr decides the port, and that this machine alone is served: whether other
// machines are let in is a setting otherwise, refused while there is no key. Keys
// are random and kept as SHA-256; a slow hash would protect what can be guessed.
// What is set and secret, the hub's token, is a file and no row, so that copies of
// the database do not have it.
//
// Library code, no main: flags and environment are read by the commands.
package app
