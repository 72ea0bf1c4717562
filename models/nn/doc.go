// Package nn holds the layers that architectures are made of: linear, embedding, norm, rope,
// attention, convolution, experts and gated activations, each with the tensors it reads from a
// checkpoint.
//
// A row is one token. Layers take the rows of a whole batch, (rows, H), except for [Heads.Attend],
// which treats each sequence by itself. Weights are read once, through [Weights], which knows every
// name that was asked for.
//
// Everything here runs on the MLX thread. Graph errors go to the scope; errors about a checkpoint
// come from [Weights.Err].
//
// # Stacked projections
//
// Projections of the same input (q, k, v; gate, up) are stacked into one matrix when they are
// loaded: one product instead of three is what a decode step gains most from, on the CPU and on
// Metal alike. Parts that are quantized differently stay apart and are joined after the product.
package nn
