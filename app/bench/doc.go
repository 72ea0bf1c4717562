// Package bench measures this machine: everything that `tandem bench` prints, and the short bench
// of the window.
//
// [Benches] lists the benches by name. Each compares two ways in turns, in one process, because two
// runs of a machine differ by more than most changes do. A bench that needs a whole Tandem gets one
// from Options.Open, a [Stage].
//
// The window's bench is a [Short]. It borrows a model that requests use ([Borrowed]) on engines of
// its own. It measures only while no request is in flight, repeats what a request disturbed, and
// follows a [Plan] of some minutes. Each drafter that the model could have is measured. One
// that requests do not have is loaded for that time alone.
package bench
