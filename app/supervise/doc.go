// Package supervise keeps one `tandem serve` running on a home folder. It starts one, or adopts one
// that runs already. It starts it again after a crash. It ends the one that it started when it is
// told to.
//
// A child ends when its standard input ends. The kernel closes that too if this process dies, so no
// child outlives it. A child drains for five seconds at most; after six it is killed. An adopted
// process is left alone.
//
// After a crash the next start waits 1, 2, then 4 seconds. The third crash in ten minutes ends
// that; a person may start the server again.
//
// The page of a window asks its supervisor what became of the server. The supervisor is in the
// window's own program, or in the menu bar, where a socket beside the server's is its door. Both
// answer through a [Desk], so a window shows a crash, and starts again, wherever it was opened
// from.
package supervise
