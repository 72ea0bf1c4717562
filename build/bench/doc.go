// Package bench runs the benches of tandem and tandem-lab, each against its rival where there is one, and keeps
// their numbers in build/out/bench.
//
// A bench pairs two long-lived processes that measure the same thing. One is
// `tandem bench NAME --json --wait`, or tandem-lab's, the other the rival's build/bench/NAME.py. They take turns, so
// that whatever slows the machine slows both.
//
// Both speak JSON lines. The first line is a header. Then they answer every line that they read
// with one measurement, and they end when their standard input does.
//
// The rival is mlx_lm, or [LlamaCpp] for `bench plain` on a GGUF file. It has the same prompts, tokens and
// threads, but rounds otherwise, so it lists no tokens to compare. What Tandem alone measures is
// printed below the table, such as the floor of a step: the bytes it reads by the bandwidth of memory.
//
// Without a rival, Tandem's side is measured once and its output is kept as it is: a header, then
// one measurement, or tables.
package bench
