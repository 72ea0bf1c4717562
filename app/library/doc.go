// Package library knows the models on disk: those that are registered, found, offered for download
// and being downloaded.
//
// A model gets into the registry by its folder, by a download, or because it is built in. Only files
// that Tandem downloaded are ever deleted. What others downloaded stays theirs; what they began and
// Tandem completed is Tandem's.
//
// Downloads go on whoever watches, until they are complete or a person stops them. They are in the
// database too: the next process goes on with those that were under way.
//
// [Library] owns the downloads and what the hub said about sizes. It asks package pool to take a
// model out of memory before its files go, and calls it without holding a lock of its own.
package library
