// Package lab has the benches that judge research: what is recalled from bounded and restored caches,
// what fewer bits for keys and values cost, how drafts pay on code, and what the endpoint adds.
//
// [Benches] lists them. They run in app/bench's frame and let ways of decoding take turns as its
// benches do. An evaluator returns what it measured, and the gate of app/evidence decides what its
// report may claim. A bench that needs a whole Tandem gets one from an [OpenStage], a [Stage].
package lab
