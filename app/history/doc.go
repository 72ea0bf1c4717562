// Package history keeps what requests leave behind, as people see it: runs and their texts, chats,
// stored responses, and the checkpoints on disk with their titles.
//
// Records of package storage and types of package control are equal field by field, so that a
// conversion between them stops compiling when they differ.
//
// A deletion is complete. First no engine holds anything from which a text could be restored
// (pool.Forget). Then the files are deleted, and the rows last: a row without a file can be deleted
// again, but a file without a row has no owner. A deletion goes on if its client leaves.
//
// [History] owns the titles that it remembers, under a lock that is never held while a file is
// read. Everything else is in the database. During a deletion it works inside a change of the pool,
// and takes no other lock of Tandem.
package history
