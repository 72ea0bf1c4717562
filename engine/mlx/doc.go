// Package mlx binds mlx-c 0.7.0 on MLX 0.32.2: arrays, lazily built graphs,
// their evaluation, and memory. It has no policy: what to compute and what to
// keep is decided above it.
//
// # One thread
//
// MLX keeps streams and encoders per OS thread, so everything happens on the
// one thread a [Thread] owns: [Thread.Do] runs a function there and hands it a
// [Scope]. Do may be called from any goroutine; a function running on the
// thread must not call Do again. A panic inside becomes the error of that Do.
//
// # Scopes own arrays
//
// Operations are methods of Scope and record graph nodes; nothing is computed
// before [Scope.Eval], [Scope.AsyncEval] or a read. An array lives until its
// scope closes, when Do returns. [Scope.Keep] moves it to a longer-lived owner
// (weights, caches), who must [Array.Free] it, also on the thread.
//
// Eval frees every handle of the scope but those it is given, before it
// evaluates. That is what lets MLX write a cache in place: a buffer is donated
// to the operation that updates it only if nothing else refers to it, and a
// forgotten handle turns an append of one row into a copy of the whole buffer.
//
// # Errors
//
// The status of every C call that can fail is checked; frees only drop a
// reference. The first failure is kept by the scope,
// later operations do nothing, and Eval, reads and Do return it: model code
// reads like arithmetic. MLX's default handler, which ends the process, is
// replaced before the first call.
//
// # Syncs
//
// A sync is a call that can block the host until the device has finished:
// Eval, the first read after an AsyncEval, and any other read of an array that
// is not yet available. [Thread.Syncs] counts them.
package mlx
