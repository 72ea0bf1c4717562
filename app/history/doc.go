// Package history shows people what their requests left: runs and their texts, chats, stored
// responses, and the checkpoints on disk with their titles.
//
// It also keeps the thoughts of earlier answers for package api, until they are 30 days unused
// (thoughts.go). With the setting put_back_thoughts off, or without checkpoints, it keeps none.
//
// A deletion is complete, in this order:
//
//  1. Every engine gives up what could restore the text (pool.Forget).
//  2. The files are deleted.
//  3. The rows are deleted. A row without a file can be deleted again, but a file without a row has
//     no owner.
//
// A deletion goes on if its client leaves.
//
// [Chats] has the window's own chats, [History] everything else. History owns the titles that it
// remembers, and the runs whose end is still to be stored. Each has a lock that is never held while a
// file or the database is read. Everything else is in the database. A deletion works inside a change
// of the pool, and takes no other lock of Tandem.
package history
