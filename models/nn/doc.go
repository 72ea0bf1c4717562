// Package nn holds the layers that architectures are made of: linear, embedding, norm, rope,
// attention, convolution, experts and gated activations. Each layer knows the tensors that it reads
// from a checkpoint. [Decoder] puts the layers together.
//
// A row is one token. Layers take the rows of a whole batch, (rows, H). Only [Heads.Attend] treats
// each sequence by itself. Weights are read once, through [Weights], which knows every name that
// was asked for.
//
// Each family of models is a package. It turns a config.json into an [Architecture] and builds a
// [Model], for most families a Decoder with its own layers:
//
//	func (a *args) New(w *nn.Weights) nn.Model {
//		rope := w.Rope(a.HeadDim, *a.RopeTheta, false, a.RopeScaling)
//		return w.Decoder(nn.DecoderSpec{
//			Args:     &a.Args,
//			NewLayer: func(path string, i int) nn.Layer { return a.newBlock(w, path, rope, i) },
//			Tied:     a.TieWordEmbeddings,
//		})
//	}
//
// Increase [Arithmetic] with every change of what a forward computes, in a family or here. What is
// on disk from earlier forwards is then no longer read.
//
// Everything here runs on the MLX thread. Graph errors go to the scope. Errors about a checkpoint
// come from [Weights.Err].
//
// # Stacked projections
//
// Projections of the same input (q, k, v; gate, up) are stacked into one matrix when they are
// loaded. One product instead of three is what a decode step gains most from, on the CPU and on
// Metal alike. Parts that are quantized differently stay apart and are joined after the product.
//
// # Quantized matrices
//
// A matrix is quantized if the checkpoint has scales for it, in a mode of MLX. What config.json does
// not say follows from its tensors. Its product has the type of the rows. Scales are held in the
// type that the model computes in. Where that cannot hold them, as bfloat16 cannot hold float16,
// they are float32, and so is the product until it is rounded. On the CPU models compute in
// float32, which holds all scales. A model that computes in the types of its checkpoint has MLX's
// own rule: a product has the wider type of rows and scales.
package nn
