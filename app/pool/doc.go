// Package pool holds the models in memory: it loads, lends and unloads them.
//
// # How a model comes into memory
//
// A model is loaded when a request names it or a person chooses it. It stays until its memory is
// needed, a person unloads it, or it was idle for as long as the settings say (idle.go). A model
// that answers requests is never taken away from them.
//
// Before a load the pool compares what the model needs with the memory of the machine (fit.go). A
// need is the weights and a whole context. The needs of the models in memory count too.
//
// # The eviction rule
//
// If a model does not fit beside the others, models leave (victims in evict.go):
//
//   - only models that no request uses, the ones of the least worth first. The worth is the time of
//     the next load divided by the time since the last use.
//   - none that would leave in vain;
//   - neither the choice nor a model that is set to stay.
//
// A context that no person set is cut down to agentContext before an idle model leaves. Only the
// whole context of the choice comes before idle models. If the model still does not fit, nothing
// changes in memory. Only for the choice all others leave in the end, after their answers. A switch
// takes the place of the choice before it. If a load fails, the models that left for it come back:
// their memory stayed reserved.
//
// # One change at a time
//
// There is one change at a time of what is in memory (change.go). Models that it does not touch
// answer meanwhile, and weights are read between their rounds. On the MLX thread the rounds of
// several engines take turns.
//
// All models share equally what their needs leave, for further texts and for checkpoints
// (divide.go). Before a load, texts that were let in under the division before have to end. If that
// takes long, the load is refused, since other changes wait for it. Only the choice waits without a
// limit.
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
// checked by the drafter's config.json and tensors, and for a smaller model by its tokens. A
// drafter that a person names is loaded or refused at once. A drafter may turn out to be unusable
// when its model is loaded. Then the model is served without it, and each answer and run says why.
//
// A drafter's checkpoint may not say how it is to be read. Then the possible readings are measured
// once, while the model is idle: one text is decoded plainly, and each reading drafts along. The
// best reading is kept with its figures. The built-in drafter is not measured. Looking up earlier
// text (n-grams) comes after every drafter. It is not measured either.
//
// # Checkpoints
//
// The engine keeps what requests computed (package engine/checkpoint), in memory and in the home
// folder, unless Options.NoCheckpoints is set. The store is opened in checkpoint_store.go. Its
// files belong to the weights, their type and the device. When a model is loaded again, its files
// come back. The database knows the files on disk: an index in this package writes it, and says
// which files are missed least. How much they may take follows from the machine, unless the settings say
// (checkpoint_budgets.go). If they cannot be written, the state has a warning, and requests go on.
//
// # Who owns what
//
// [Pool] owns the list of models. Its lock guards that list, the change in progress, and every
// field of a [Model] that says so. The lock order of Tandem is settings, then pool, then endpoint.
// The pool's lock is never held while the database is read, since every request needs the lock.
//
// A [Model] is held by requests from Acquire to Release. Measurements borrow it without holding it
// (lend.go): they end when it leaves, and requests always come first. The lists of abilities and of
// the last tokenizer have locks of their own, which are taken without the pool's.
package pool
