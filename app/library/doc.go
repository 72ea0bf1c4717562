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
// # GGUF files
//
// A GGUF file's path is taken wherever a folder's is: models/gguf shows the file as a folder.
// What goes by the dates of files takes the file itself (models.GGUFDates).
//
// # Who owns what
//
// [Library] owns the downloads and the sizes that the hub told, each under its lock. It
// asks package pool to take a model out of memory before its files go. It holds neither lock
// during that call, so its locks are outside of the order settings, pool, endpoint.
package library
