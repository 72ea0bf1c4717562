// Package figures holds what every bench prints and how its numbers are judged: a header, tables
// and metrics, and the median of measurements with its interval, held to a bar.
//
// It imports nothing of this module, because `go run ./build` compiles before MLX is there, and
// build's benches print and judge the way app/bench and app/lab do.
package figures
