// Package restore bounds what the attention layers of a model keep. A bounded layer keeps its own
// rows at the beginning and at the end of a text. At the positions between, it attends rows that are
// restored from the layers of a drafter.
//
// # Restoration is a model
//
// [Model] wraps a target and is an lm.Model itself. Its caches are the target's, with a
// cache.SinkWindow for each bounded layer; then a cache.Bank for each bounded layer; then those of
// the source. Its Forward has the source read the tokens first. What the source makes travels in
// lm.Sequence to the target's layers. They norm and rotate it as they do their own, put it into their
// banks and attend both.
//
// So the engine need not know of it. Prefill, verify blocks, checkpoints in memory and on disk,
// batches, cancels and restarts go by cache.Cache, and each of these caches keeps that contract. A
// mode of the engine would have to be handled in each of these places.
//
// # Eviction is relative to the query
//
// A query at position q attends its window rows at positions below the sink and in (q-window, q], and
// restored rows at every position between. It could go by the prompt instead: rows that are evicted
// at its end stay evicted, and all queries see the same. We do not, for three reasons:
//
//   - A rule by query is causal. What a query attends does not depend on the length of the text after
//     it. So every chunking of a prompt gives the same bits, and a checkpoint inside a prompt is worth
//     as much as one at its end.
//   - Prefill and decode follow one rule. A forward of the whole text is the reference for both.
//   - Nothing is restored that the window still holds.
//
// A sliding-window layer attends no more positions than before, by either kind of rows.
//
// # What restores
//
// [FTheta] joins a drafter's layers, which run as a plain stack, with a linear projection.
// [Identity] restores the target's own rows, recorded in a separate forward. It takes the same
// path, so it separates errors of the machinery from errors of a projection. Without a source, a
// bounded layer has its sink and its window alone.
//
// Exact layers keep every row and have no bank. If the full layers of a model are exact and its
// sliding ones bounded, that is Kakeya's S5. Layers that attend the keys of others inherit what
// those attend.
//
// # What it costs
//
// Window rows do not grow: sink + window-1 rows, and cache.MaxBlock rows of slack, so that a verify block
// can be dropped. A longer run is written in pieces of that many rows, so no slack for a whole chunk
// is needed. Restored rows do grow with the text, in the bank, and so do the caches of a drafter with
// full layers. [Model.Bytes] measures each apart. A bounded layer without a bank keeps the least and
// forgets.
//
// A query attends window and restored rows together. That keeps one order for its sum, which the bit
// tier needs. Two softmaxes joined afterwards would round otherwise. So a bank has room for a copy
// of the window rows before the restored ones. A step or a verify block copies nothing else. A chunk
// of a prompt copies the bank once for each layer. On the CPU, it copies window rows for every 32 rows
// too: 16 times what the window takes. In 16 bits there, queries attend all of these. See
// [cache.Divided].
//
// On the CPU in float32, a bounded layer takes this many times what a layer with all its own rows
// takes. It attends by tiles, and has 8 heads of 64 elements over 4, a sink of 4 rows and a window
// of 64. Figures are medians of 7 interleaved pairs:
//
//	positions   chunk of 512 rows   verify block of 8   step
//	4,096       1.4                 1.2                 1.1
//	32,768      1.4                 1.0                 1.1
//
// # Native primitives
//
// These are the names that Kakeya's notes give, and what does the same here:
//
//   - native_generate: engine.Engine.Generate. It prefills in chunks, and memory beyond the caches does
//     not grow with the prompt.
//   - build_native_prefill_cache: [Prefill].
//   - set_kv_cache_state: [SetState]. [State] is its inverse.
//   - inject_restored_into_native_cache: [SetState] on a bank or on a plain cache, with rows that are
//     normed and rotated. A Forward does it for a whole model.
//   - native_restored_decode: [Decode].
//   - cache_resident_bytes: [ResidentBytes]. [Model.Bytes] divides it.
//   - restored_prefill_cache: [Prefill] on a [Model].
//   - restored_incremental_generate: [Decode] on a [Model], or engine.Generate.
//   - restored_logits: a forward of the whole text on fresh caches. Tests have one without these
//     caches too.
//   - capture_own_kv: lm.Sequence.Record.
//   - MLXRestoredIncrementalVerifier: the engine's verify round. commit_or_truncate is Cache.Trim,
//     rollback_block is Cache.Restore.
//
// Results of Prefill and Decode on a model that is not bounded carry the label [NativeBypass]. Their
// recall is the target's own and says nothing about restoration.
package restore
