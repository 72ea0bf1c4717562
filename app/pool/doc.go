// Package pool holds the models in memory: it loads, lends and unloads them.
//
// # How a model comes into memory
//
// A model is loaded when a request names it or a person chooses it. It stays until its memory is
// needed, a person unloads it, or it was idle for as long as is set. A model that answers requests is
// never taken away from them.
//
// Before a load the pool compares what the model needs with the memory of the machine (fit in
// fit.go). It counts weights and a whole context, also for the models that are already there. Where
// that does not fit, models leave (victims in evict.go):
//
//   - only models that no request uses, the ones of the least worth first;
//   - none that would leave in vain;
//   - neither the choice nor a model that is set to stay.
//
// A context that nobody asked for is cut down to besideContext before an idle model leaves. Only the
// context of the choice comes before idle models. What still does not fit changes nothing in memory.
// Only for the choice all others leave in the end, once their answers have ended. A switch takes the
// place of the choice before it. If a load fails, the models that left for it come back.
//
// # One change at a time
//
// One change of what is in memory is made at a time (see change). Models that it does not touch
// answer meanwhile, and weights are read between their rounds. On the MLX thread the rounds of
// several engines take turns. What the needs of all models leave of the memory is divided equally for
// further texts, and so is the memory of checkpoints (Pool.divideMemory). Before a load, texts that
// were let in under another division end. Where that takes long the load is refused, unless it is the
// choice's: other changes wait for it.
//
// # Drafters
//
// What drafts for a model is chosen per model and kept: a folder, none, or auto, the default. Auto
// takes the first of these:
//
//   - the drafter that is built in, for the pocket model;
//   - the folder drafter inside the model's own folder;
//   - a drafter in the hub's cache named NAME-DFlash or NAME-DFlash-MORE, by any publisher, for a
//     model named NAME or NAME-MORE; the longest NAME wins;
//   - none.
//
// The place decides, at the time of the load, and nothing is tried out. Whether the two fit is then
// checked by the drafter's config.json and tensors, and for a smaller model by its tokens. A drafter
// that a person names is loaded or refused at once. A drafter that turns out to be unusable when its
// model is loaded costs the model nothing: the model is served without it, and each answer and run
// says why.
//
// Where a drafter's checkpoint does not say how it is to be read, the possible readings are measured
// once, while the model is idle: one text is decoded plainly and each reading drafts along. The best
// one is used from then on and kept with the figures. The built-in drafter needs no measurement.
// Looking up what the text has said before (n-grams) follows every drafter, and needs none.
//
// # Checkpoints
//
// The engine keeps what requests computed (package engine/checkpoint), in memory and in the home
// folder, unless Options.NoCheckpoints is set. The store is opened here, see checkpoints.go. Files
// belong to the weights, their type and the device; when a model is loaded again, its files come back.
// The database knows what is on disk: an index in this package writes it, and says which files are
// missed least. How much they may take follows from the machine, unless the settings say. Where they
// cannot be written the state has a warning, and requests notice nothing.
//
// # Who owns what
//
// [Pool] owns the list of models and its lock, which guards every field of a [Model] that says so.
// The lock is taken after that of the settings and before that of the endpoint, and never while the
// database is read. A [Model] is lent to requests until Release. Measurements borrow it without
// holding it (lend.go): they end when it leaves, and requests always come first.
package pool
