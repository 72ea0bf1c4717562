// Package supervise keeps one `tandem serve` running on a home folder: it starts
// it, or adopts one that somebody else started, starts it again after a crash,
// and ends the one it started when it is told to.
//
// A child is told to end by the end of its standard input, which the kernel
// closes too if this process dies: nobody is left behind. It drains for five
// seconds at most; after six it is killed. One that was adopted is left alone.
//
// After a crash the next start waits 1, 2, then 4 seconds; the third crash in ten
// minutes ends that, and a person may start again.
//
// The page of a window is told what became of the server by whoever supervises: by
// its own program, or at the menu's door, a socket beside the server's. Both are one
// Desk, so that a window shows a crash, and starts again, wherever it was opened from.
package supervise
