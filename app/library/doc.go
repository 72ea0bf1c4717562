// Package library knows the models on disk. Some are registered, some were found in the folders of
// other programs, some are being downloaded. It also knows the models that can be downloaded.
//
// A model gets into the registry by its folder (register.go), by a download (pull.go), or because
// it is built in. Only files that Tandem downloaded are ever deleted (remove.go). Files that others
// downloaded stay theirs. Files that others began and Tandem completed are Tandem's.
//
// Downloads go on whether a client watches or not, until they are complete or a person stops them
// (downloads.go). The database lists them too: the next process goes on with those in progress.
//
// # Another format of models
//
// An importer, say of GGUF, touches these places:
//
//   - this package: finder.folder (found.go) recognises a folder, and refuses GGUF by name today;
//     AddModel (register.go) accepts a folder, and refuses a file;
//   - models/hub: name.go and info.go choose the files of a repository, find.go looks for missing
//     ones, index.go and size.go go by the names of shards;
//   - models: config.go reads the sizes, checkpoint.go the tensors; load.go, inspect.go and
//     purpose.go name the files; footprint.go counts their bytes;
//   - models/nn: quantization.go knows MLX's affine packing alone, weights.go the types of tensors;
//   - engine/mlx: safetensors_header.go reads the headers of files;
//   - engine/tokenizer: file.go reads the tokens from tokenizer.json;
//   - app/pool: checkpoint_store.go, drafter_reading.go, tokenizer.go and remembered.go name the
//     files. The first makes the key of checkpoints from them, so it must not miss one;
//   - app/ollama: models.go tells the format.
//
// An importer adds a reader of headers to engine/mlx. It adds a map from GGUF's names of tensors to
// the names of checkpoints to package models.
//
// # Who owns what
//
// [Library] owns the downloads and the sizes that the hub told, each under a lock of its own. It
// asks package pool to take a model out of memory before its files go. It holds no lock of its own
// during that call, so that its locks have no place in the order settings, pool, endpoint.
package library
