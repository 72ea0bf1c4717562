// Package bench measures this machine: everything that `tandem bench` prints, and the short bench
// of the window.
//
// [Benches] lists the benches by name, and [Verb] runs them. Each declares the flags that it reads, and
// compares two ways in turns, in one process, because two runs of a machine differ by more than most
// changes do.
//
// A [Contest] lets ways of decoding take turns on a [Workload], and a [DivergenceJudge] says whether two
// answers differ by more than rounding. The benches of app/lab use both, and run in the same frame.
//
// The window's bench is a [Short]. It borrows a model that requests use ([Borrowed]) on engines of
// its own. It measures only while no request is in flight, repeats what a request disturbed, and
// follows a [Plan] of some minutes. Each drafter that the model could have is measured. One that
// requests do not have is loaded only for that time.
package bench
