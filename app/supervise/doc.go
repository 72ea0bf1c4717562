// Package supervise keeps one `tandem serve` running on a home folder. It starts a process, or
// adopts one that already runs. After a crash it starts the process again. When it ends, it ends
// the process that it started.
//
// A child ends when its standard input ends. The kernel closes that too if this process dies, so no
// child outlives it. A child drains for five seconds at most, and is killed after six. An adopted
// process is left alone.
//
// After a crash the next start waits 1, 2, then 4 seconds. The third crash in ten minutes ends the
// restarts. The user can then start the server again.
//
// The page of a window asks its supervisor about the state of the server. The supervisor is in the
// window's own program, or in the menu bar, which listens on a socket beside the server's. Both
// answer through a [ControlHandler], so a window shows a crash, and restarts the server, wherever
// it was opened from.
package supervise
