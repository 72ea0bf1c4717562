// Package roomtest has what tests of several rooms share.
//
// Open opens the rooms below a room that is tested: home folder, database, MLX thread, settings and
// pool. Tests of library and history call it. Package pool cannot, since its tests are inside the
// package.
//
// A Backend answers for all of them, with one scripted model and everything else in memory. The
// tests of the routes send requests to it, and read the answers as a vendor's clients do.
package roomtest
