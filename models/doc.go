// Package models loads a model folder in the form of Hugging Face and mlx-lm. The folder holds
// config.json, safetensors in one file or in shards, and tokenizer.json. It may also hold
// generation_config.json and a chat template.
//
// [Open] takes a folder, [OpenFS] any file system, such as the embedded pocket model. Both return
// [Files], whose methods tell what the files say ([Files.Summary]), measure a drafter ([Files.Drafter])
// and load ([Files.Load], which returns a [Bundle]). README.md lists the families. Wherever a function
// takes the path of a folder, that of a GGUF file will do: models/gguf shows it as a folder.
//
// Files read a file when it is first needed, and once. A [FileCache] keeps them from the registration of
// a model to its load, until a file on disk changes. The weights are opened by the load alone, which
// refuses those that have changed since their header was read.
//
// Nothing in a folder is trusted:
//
//   - Sizes in config.json have limits (models/nn).
//   - Files that an index names must lie beside it.
//   - safetensors headers are checked against the size of the file before any tensor is read.
//   - A tensor that is missing, left over or of the wrong shape is an error that names it.
//
// Each family is one package below this one, with a row in the table in architectures.go. Its file
// has this order: args, block, what is unusual. Names are the checkpoint's. The plumbing that all
// decoders share is nn.Decoder.
//
// [Files.LoadDrafter] takes the [Bundle] that a drafter is to draft for. A block
// network (models/dflash) borrows what it lacks of embedding and head from the target. Any other
// model drafts if it has the same tokens. [Files.Outline] returns a model without weights. With it
// a drafter can be checked before the model is read.
//
// # What a model is for
//
// Embedding models and rerankers have the layers of models that generate, and config.json does not
// tell them apart: Qwen3-Embedding and Qwen3-Reranker say Qwen3ForCausalLM. [Bundle].Purpose comes
// from the first of these that tells:
//
//   - modules.json, in which sentence-transformers lists what follows the layers. Pooling and
//     Normalize make an embedding model. LogitScore, with two token ids, makes a reranker. The
//     config.json of Pooling names the mode, or sets a flag in older versions. Pooling is by last
//     token, mean or cls. Other modes and other modules are refused by name, and so are layers that
//     see what follows a token.
//   - The post-processor of tokenizer.json, for conversions to MLX, which lack the files above. A
//     qwen3 whose tokenizer ends each text with a token is Qwen3-Embedding. Its vector is the
//     hidden state of that token, normalised.
//   - The name of the folder or of the repository. A qwen3 called Qwen3-Reranker is a reranker.
//
// The text that instructs an embedding model stands in front of the input. The client puts it
// there. The prompt of a reranker is [Bundle.RerankPrompt]. Sources: the module classes of
// sentence-transformers (Pooling, Normalize, LogitScore), the model cards of Qwen3-Embedding and
// Qwen3-Reranker.
//
// Package hub downloads models and knows their places on disk. It is apart, because it needs
// neither MLX nor an architecture, and its tests need a fake network only.
package models
