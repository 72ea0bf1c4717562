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
// Without a rival, Tandem's side is measured once and its output is kept as it is: a header, then
// one measurement, or tables.
package bench
