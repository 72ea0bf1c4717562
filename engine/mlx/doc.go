// Package mlx binds mlx-c 0.7.0 on MLX 0.32.4: arrays, lazily built graphs, their evaluation, and
// memory. It has no policy: its callers decide what to compute and what to keep.
//
// # One thread
//
// MLX keeps streams and encoders per OS thread. So every call happens on the one OS thread that a
// [Thread] owns: [Thread.Do] runs a function there and hands it a [Scope]. Do may be called from
// any goroutine; a function running on the thread must not call Do again. A panic inside becomes
// the error of that Do.
//
// # Scopes own arrays
//
// Operations are methods of Scope. They record graph nodes; nothing is computed before
// [Scope.Eval], [Scope.AsyncEval] or a read. An array lives until its scope closes, when Do
// returns. [Scope.Keep] moves it to a longer-lived owner (weights, caches), which must [Array.Free]
// it on the thread.
//
// Eval first frees every handle of the scope except its arguments, then it evaluates. This lets MLX
// write a cache in place: MLX donates a buffer to the operation that updates it only if nothing
// else refers to it. One forgotten handle turns an append of one row into a copy of the whole
// buffer.
//
// # Operations of our own on the CPU
//
// Some operations are not MLX's: on Linux, C++ adds them as primitives, for float32 on the CPU
// (measured in engine/log):
//
//   - [Scope.TiledAttention]. MLX's own operations write and read all scores a dozen times.
//   - [Scope.TiledMatMul]. OpenBLAS packs a whole matrix before it multiplies a few rows.
//   - [Scope.TiledGatherMM]. MLX multiplies each row with its expert by itself.
//   - [Scope.PackedMatMul], [Scope.PackedGatherMM] and [Scope.PackedRows] read a quantized matrix in its few bits.
//     MLX's own product takes one row after the other, on one thread. Products of a group of inputs are added before
//     they are scaled, as in MLX's kernels for a GPU.
//   - [Scope.FusedRMSNorm], [Scope.Rotate] and [Scope.Gated] are three to seven operations of MLX each, whose own
//     time counts between the products of a few rows.
//   - [Scope.Widen]. MLX casts weights of 16 bits one by one, on one thread.
//
// What all but the last give a row does not depend on the rows that come with it.
//
// An operation costs some 15 us beside its work, so one takes over those before it in the graph that are not computed
// yet: a packed product the norm or the gate that makes its rows, [Scope.FusedAdd] the product or the norm that it adds
// to, TiledAttention the slices of its keys and values. A layer of Llama has 8 operations left of 22.
//
// # Errors
//
// Every C call that can fail has its status checked; a free only drops a reference. The scope keeps
// the first failure. Later operations do nothing, and Eval, reads and Do return that failure. So
// model code reads like arithmetic. MLX's default handler ends the process; it is replaced before
// the first call.
//
// # Syncs
//
// A sync is a call that can block the host until the device has finished. These are Eval, the first
// read after an AsyncEval, and any other read of an array that is not yet available. [Thread.Syncs]
// counts them.
package mlx
