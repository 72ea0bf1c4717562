// Package models loads a model folder in the form of Hugging Face and mlx-lm: config.json,
// safetensors in one file or in shards, tokenizer.json, and where they are there
// generation_config.json and a chat template.
//
// [Load] takes a folder, [LoadFS] any file system, such as the embedded pocket model; both read
// through the same path. What comes back is a [Bundle].
//
// Nothing in a folder is trusted: sizes in config.json have limits (models/nn), file names in an
// index must lie beside it, safetensors headers are checked against the file's size before any
// tensor is read, and a tensor that is missing, left over or of the wrong shape is an error that
// names it.
//
// Architectures are one package each below this one, listed in the table in architectures.go. They
// all have the same order inside: args, Attention, MLP, Block, Model, sanitize, with the
// checkpoint's names.
//
// [LoadDrafter] takes the folder of a drafter and the [Bundle] it is to draft for: a block network
// (models/dflash) borrows embedding and head from it, and any other model drafts if it has the same
// tokens. [Outline] is a model without weights, for which a drafter can be checked before the model
// is read.
//
// # What a model is for
//
// Embedding models and rerankers have the layers of models that generate, and config.json tells
// none from the other (Qwen3-Embedding and Qwen3-Reranker say Qwen3ForCausalLM). [Bundle].Purpose
// is told from, in this order:
//
//   - modules.json, where sentence-transformers lists what follows the layers: Pooling (its
//     config.json names the mode, or sets one of the flags of older versions) and Normalize make an
//     embedding model, LogitScore (two token ids) a reranker. Pooling is by last token, by mean or
//     cls; other modes, other modules, and layers that see what follows a token are refused by
//     name.
//   - the post-processor of tokenizer.json, for conversions to MLX that lack the files above: a
//     qwen3 whose tokenizer ends each text with a token is Qwen3-Embedding, whose vector is the
//     hidden state of that token, normalised.
//   - the name of the folder or of the hub: a qwen3 called Qwen3-Reranker is one.
//
// What instructs an embedding model stands in front of a text, and is the client's to put there.
// The prompt of a reranker is [Bundle.RerankPrompt]. Sources: the module classes of
// sentence-transformers (Pooling, Normalize, LogitScore), the model cards of Qwen3-Embedding and
// Qwen3-Reranker.
//
// Package hub below this one downloads models and knows their places on disk. It is apart because
// it needs neither MLX nor an architecture, and its tests a fake network only.
package models
