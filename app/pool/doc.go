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
// If a model does not fit beside the others, other models leave. victims (evict.go) says in which
// order, plan (make_room.go) says which of them may leave for the new model:
//
//   - For any model, idle models leave. The model of the least worth leaves first. Its worth is the
//     time of its next load, divided by the time since its last use.
//   - For the choice, models that requests use leave next, after their answers. Models that a person
//     set to stay leave last.
//   - The choice leaves only for the next choice, which replaces it.
//   - No more models leave than needed, and none if that does not make enough room.
//
// If the setting load_on_request is replace, all other models leave, the choice too. If one of them
// answers requests, the load is refused; only the choice waits for them. idle.go unloads models by
// time, whether memory is needed or not.
//
// Before an idle model leaves, the new model's context is cut down to agentContext (32,768 tokens),
// unless a person set it. For the choice, idle models leave before its context is cut. If the new
// model still does not fit, it is refused and nothing changes in memory. If a load fails, the
// models that left for it come back. Their memory stays reserved until then.
//
// # When the machine is short of memory
//
// Room says what models may take, and other programs may want it all the same. The system then says
// so (pressure.go; home.PressureSource). Models that no request holds leave, the least worth first
// and the choice last. Then checkpoints leave the memory; on disk they stay. Kept models and models
// that answer stay. A model comes back by a request alone, and then stays for some minutes. So levels
// that come and go do not load and unload it in turns.
//
// # One change at a time
//
// One change at a time decides which models are in memory (change.go). All other models answer
// meanwhile, and weights are read between their rounds. On the MLX thread the rounds of several
// engines take turns.
//
// The memory that the needs leave is shared equally, for further texts and for checkpoints
// (divide.go). A load makes the shares smaller. So it first waits for texts that need more than
// their new share. If that takes long, the load is refused, since other changes wait for it. Only
// the choice waits without a limit.
//
// # Drafters
//
// Package drafters says which drafter a model has and opens it. The pool makes room for it, and
// replaces it on a model in memory (drafter_change.go). Looking up earlier text (memory and n-grams)
// comes after every drafter.
//
// # The memory of texts
//
// What a client's prompts and answers said is kept as token ids, for the drafter memory (texts.go;
// package engine/texts says how). A client is a key. Clients without a key are one. No client is
// drafted from another's texts. The files lie in the home folder, and history's Forget removes
// them. With Options.NoCheckpoints nothing is remembered.
//
// # Checkpoints
//
// The engine keeps what requests computed (package engine/checkpoint), in memory and in the home
// folder, unless Options.NoCheckpoints is set. checkpoint_store.go opens the store. Its files
// belong to the weights, their type and the device, and come back when the model is loaded again.
// checkpoint_index.go lists the files in the database, and says which to delete first.
// checkpoint_budgets.go says how much they may take: as the settings say, else by the machine. If
// files cannot be written, the state has a warning, and requests go on.
//
// # Who owns what
//
// [Pool] owns the list of models. Its lock guards that list, the change in progress, and every
// field of a [Model] that says so. Package app has the lock order of Tandem. The pool's lock is
// never held while the database is read, since every request needs the lock.
//
// A [Model] is held by requests from Acquire to Release. Measurements borrow it without holding it
// (lend.go): they end when it leaves, and requests always come first. The lists of abilities and of
// the last tokenizer have locks of their own, which are taken without the pool's.
package pool
