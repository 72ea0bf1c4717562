// Package history keeps what requests leave behind, as people see it: runs and their texts, chats,
// stored responses, and the checkpoints on disk with their titles.
//
// Records of package storage and types of package control are equal field by field, so that a
// conversion between them stops compiling when they differ.
//
// What is forgotten is gone everywhere: no engine has anything of a text left that could be restored
// (pool.Emptied), its files are deleted, and its rows last. A deletion that began is completed even if
// the client leaves.
//
// [History] owns the titles that it remembers, and nothing else; everything else is in the database.
package history
