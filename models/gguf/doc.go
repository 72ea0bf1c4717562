// Package gguf shows GGUF files, the format of llama.cpp, as folders in Hugging Face's form. A
// [Folder] is a file system with config.json, tokenizer.json and model.safetensors, made of one
// file's metadata and tensors. So a GGUF file loads through the same path as any model. Nothing is
// copied on disk.
//
// The weights of a packed tensor are repacked while they are read, row by row, into the groups that
// MLX multiplies. Their values stay exactly as llama.cpp has them:
//
//	Q4_0, Q4_1, Q5_0, Q5_1, Q8_0   affine groups of 32, scales shown as float16
//	Q4_K, Q5_K                     affine groups of 32, scales shown as float32
//	IQ4_NL                         affine 8 bit, scales shown as float16: its codebook has whole numbers
//	IQ4_XS, IQ2_XXS                affine 8 bit, scales shown as float32
//	IQ3_S, IQ3_XXS                 affine 4 and 6 bit, scales shown as float32 (grid.go)
//	MXFP4                          mxfp4
//
// Tensors of F32, F16 and BF16 are shown as they are. A model that computes in bfloat16 rounds them
// to it, except biases that only choose experts. It holds every scale in float32.
//
// Q2_K, Q3_K, Q6_K, IQ2_XS and IQ2_S have groups of 16, which MLX's affine form lacks. They take the
// fewest bits whose rms error is under 0.1 of the rms step of the tensor ([Folder.Losses],
// approximate.go): 4, 5, 8, 8 and 8 for most tensors. Products of our own take their groups as they are, and lose
// nothing ([Folder.OpenExact]).
//
// Code in C does that for these kinds, because Go has no vectors and took several times as long. It
// is here and not in engine/mlx: it knows the layouts of GGUF, and calls nothing. kernel.h has the
// loops, superblock.h the layouts, joint.h how groups are joined, and lanes.h the vectors.
//
// What a converter of llama.cpp changed is undone. The rows of queries and keys of a Llama are
// interleaved there, and here they are in halves again. Value heads of Qwen3.5 are in another order
// there (heads.go). Decays of recurrent layers are not logarithms there.
//
// A chat template in Go's language, as Ollama has them, is replaced by the family's Jinja template,
// found by its special tokens and its architecture (template.go).
//
// Parts that let a model see or hear, which Ollama's files have beside the text model, are left out
// ([Folder.LeftOut]).
//
// A layer after the last one that predicts a further token is the head of Qwen3.5 here, by its makers'
// names (predictor.go). Other heads are left out ([Folder.NoHead]).
//
// generation_config.json has the sampling that the metadata recommends, and what the caller adds
// ([Folder.Recommend]).
//
// Nothing in a file is trusted. The header is read in steps. Each count, length and offset must fit
// into the rest of the file before memory is taken for it.
package gguf
