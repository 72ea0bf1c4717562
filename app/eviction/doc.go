// Package eviction decides which models are in memory. It is pure: from a [State] and what is wanted it
// returns what a model will need and which models to unload, or a refusal. It reads no file, no clock
// and no lock. Package pool carries plans out. It is named for its main rule, since readers look for
// that: four who saw the names of folders alone did not take package plan for it.
//
// # What a model needs
//
// A [Need] is the weights, those of the drafter, and a whole context. Before a load it is compared
// with the memory that models may take ([Limits]); the needs of the models in memory count too. A
// model that does not fit beside the others gets a shorter context first, unless a person set its
// length (fit.go).
//
// # The eviction rule
//
// If a model does not fit beside the others, others are evicted (evict.go, load.go):
//
//   - For any model, idle models. The one of the least worth goes first: the time of its next load
//     divided by the time since its last use.
//   - For the current model, models that requests hold go next, after their answers, and models that
//     a person set to stay go last.
//   - The current model is evicted for the next current model only, which replaces it.
//   - No more models than needed, and none if that does not make enough room.
//
// If the setting load_on_request is replace, all other models go, the current one too. If one of
// them answers requests, the load is refused; only the current model waits for them.
//
// Before an idle model is evicted, the new model's context is cut down to agentContext (32,768
// tokens), unless a person set it. For the current model, idle models are evicted before its context
// is cut. A model that still does not fit is refused, and nothing changes in memory.
//
// # Shares
//
// The memory that the needs leave is shared equally, for further sequences and for checkpoints
// (shares.go). A load makes the shares smaller, so it waits until no model's sequences take more than
// their new share.
//
// # Idle models and shortages of memory
//
// A model that was idle for as long as the settings say is unloaded (idle.go). When the whole machine
// is short of memory (pressure.go), idle models are unloaded, the least worth first and the current
// one last. Then checkpoints leave the memory; on disk they stay. Models that a person set to stay and
// models that answer stay. A model that came back by a request then stays for some minutes, so levels
// that come and go do not load and unload it in turns.
package eviction
