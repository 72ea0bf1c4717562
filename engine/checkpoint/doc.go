// Package checkpoint keeps the states of sequences, so that a text that begins like an earlier one
// is not evaluated again.
//
// # The trie
//
// A [Trie] is a prefix trie over token ids. An edge is a run of tokens, and the node at its end
// holds one snapshot for each cache of the stack. The kind of the cache decides what a snapshot
// holds:
//
//   - For a cache that keeps every row, the rows of exactly that edge. The path from the root has
//     all rows, and the cache can be restored to any position on the path.
//   - For a cache that needs exact restore points (a ring, a recurrent state), the state at exactly
//     the end of the edge, or nothing. Without it the path can be matched there, but not restored.
//
// So a text that matches up to some token is restored to the deepest node at or before that token
// that holds everything. A stack that keeps every row is restored to that token itself. At least
// one token is always left to evaluate, because its output is the next token.
//
// # Sequences in flight
//
// Each sequence in flight owns its caches and has a [Path], positioned at the node of its last
// capture. The engine schedules captures before a forward. The caches take them as a write crosses
// their offsets. Once the rows are committed, [Path.Extend] makes nodes of them. Two sequences may
// add the same tokens; the second adds nothing.
//
// Snapshots are lazy: ranges in the buffers of their sequence. A sequence that ends parks its
// caches ([Path.Park]), so that nothing is copied. A sequence that goes on with the same text takes
// them over. Parked caches are freed for later ones or when memory is short. They first copy out
// what nodes hold of them.
//
// # Memory
//
// Parked caches and copied rows count against the budget. Above it the trie evicts what is worth
// least:
//
//   - the parked caches that were not used for the longest time;
//   - the nodes that would save the fewest tokens for each byte. The longer a node was not used,
//     the less it is worth.
//
// When a node inside a text is evicted, its rows go to the node after it. Nodes in use by a
// sequence are not evicted.
//
// # Disk
//
// A [Store] keeps each edge in a file too. After a restart the trie gets it back: the header
// immediately, the rows and states when they are needed. The MLX thread only makes arrays
// contiguous; a goroutine writes them, and names a file once it is whole and on disk. So a crash
// costs the edge that was being written; edges after a lost one are lost too. What is on disk need
// not be in memory: it leaves memory first, and nothing is lost.
//
// An [Index] records the files, and orders their deletion when there are too many. A file holds
// everything that is needed to restore it: an index that lost its entries gets them back from the
// files. The index remembers a deleted file by a digest of its text, so that it can say why a text
// had to be evaluated.
//
// Files are not trusted. The header and each tensor have a checksum. A file of other weights, of
// other arithmetic, of another format or of other caches is left out. Damage found during a read
// discards the file and everything after it. The context of another drafter is left out; the rest
// of its file is not.
//
// # Concurrency
//
// A Trie and its Paths are used on the MLX thread only. [Store], [Folder] and [Index] say which
// goroutines may call them.
package checkpoint
