// Package checkpoint remembers the states of sequences, so that a text which
// begins as an earlier one did is not evaluated again.
//
// # The trie
//
// A [Trie] is a prefix trie over token ids. An edge is a run of tokens, and the
// node behind it holds one snapshot for each cache of the stack. What a snapshot
// holds depends on its cache:
//
//   - of a cache that keeps every row, the rows of exactly that edge: the path
//     from the root has them all, and the cache can be restored to any position
//     on it;
//   - of a cache that needs exact restore points (a ring, a recurrent state), the
//     state at exactly the edge's end, or nothing: then the path can be matched
//     there, but not restored.
//
// So what can be restored of a text that matches up to some token is the deepest
// node at or before it that holds everything; in a stack that keeps every row
// it is that token itself. At least one token is left to evaluate: its output
// is what comes next.
//
// # Sequences in flight
//
// Each sequence in flight owns its caches and has a [Path], the place where it
// stands: the node of its last capture. The engine schedules captures ahead of a
// forward, the caches take them as a write crosses their offsets, and once the
// rows are committed [Path.Extend] makes nodes of them. Two sequences may
// add the same tokens; the second adds nothing.
//
// Snapshots are lazy: ranges in the buffers of the sequence they come from. A
// sequence that ends parks its caches ([Trie.Park]), so that nothing is copied,
// and one that goes on with the same text takes them over. Caches that have to
// go, because others were parked after them or for want of memory, copy out
// what nodes still hold.
//
// # Memory
//
// Parked caches and copied rows count against the budget. Above it goes first
// what is worth least: the longest unused parked caches, and of nodes those that
// would save the fewest tokens for each byte, fewer the longer nobody used them.
// A node in the midst of a text leaves its rows to the node behind it. Nodes
// where a sequence stands stay.
//
// # Disk
//
// A [Store] keeps each edge in a file as well, from where the trie is brought
// back after a restart: by its header at once, its rows and states when they are
// wanted. The MLX thread makes arrays contiguous and no more; a goroutine writes
// them, and names a file once it is whole and on disk. So a crash costs the
// edge that was being written, and edges behind a lost one are lost too. What
// is on disk need not be in memory: it goes first, and nothing with it.
//
// An [Index] is told what files there are, and says which are missed least when
// there are too many. A file says itself all that is needed to restore it: an
// index that lost its entries gets them back from the files. What is gone is
// remembered by a digest of its text, so that it can be told why a text had
// to be evaluated.
//
// Nothing of a file is believed: its header and each tensor have a sum, and a file
// of other weights, of another format or of other caches is left out. What
// turns out to be damaged when it is read is given up with all behind it.
// Contexts of another drafter are left out, the rest of their file is not.
//
// A trie is used on the MLX thread only.
package checkpoint
