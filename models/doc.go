// Package models loads a model folder in the form of Hugging Face and mlx-lm:
// config.json, safetensors in one file or in shards, tokenizer.json, and where
// they are there generation_config.json and a chat template.
//
// [Load] takes a folder, [LoadFS] any file system, such as the embedded pocket
// model; both read through the same path. What comes back is a [Bundle].
//
// Nothing in a folder is trusted: sizes in config.json have limits
// (models/nn), file names in an index must lie beside it, safetensors headers
// are checked against the file's size before any tensor is read, and a tensor
// that is missing, left over or of the wrong shape is an error that names it.
//
// Architectures are one package each below this one, listed in the table in
// architectures.go. They all have the same order inside: args, Attention, MLP,
// Block, Model, sanitize, with the checkpoint's names.
//
// [LoadDrafter] takes the folder of a drafter and the [Bundle] it is to draft
// for: a block network (models/dflash) borrows embedding and head from it, and
// any other model drafts if it has the same tokens. [Outline] is a model
// without weights, for which a drafter can be checked before the model is read.
//
// Package hub below this one downloads models and knows their places on disk.
// It is apart because it needs neither MLX nor an architecture, and its tests
// a fake network only.
package models
