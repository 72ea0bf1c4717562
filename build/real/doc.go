// Package real tries the program on a real model, the starter: real weights, real text.
//
// mlx_lm and tokenizers said beforehand what they make of the same texts (build/fixtures/starter.py).
// The checks are the Python programs in this folder. Each talks to a server as any client does.
package real
