// Package texts keeps a client's earlier prompts and answers as token ids. From them a drafter
// proposes how a similar text goes on (package draft, Memory).
//
// A memory belongs to one client and one tokenizer. No client is ever shown another's. It holds
// the newest MaxTokens tokens. A [Store] has the memories of a folder: a request opens its
// client's, looks texts up while it is answered, and adds its own when it has ended.
//
// # What is added
//
// The next request of a conversation repeats its prefix. Only the new part of a text is added. The
// store knows the beginnings of earlier texts by hashes: at every markEvery tokens, at the end of a
// prompt and at the end of a text. A text that is said twice with different beginnings counts
// twice, since that is how often it was said.
//
// # Lookups
//
// The longest suffix of the request that occurs in the memory wins, up to maxMatch tokens. Its
// occurrences vote on each token that follows. Hash chains do that (corpus.go) with 28 bytes a
// token and no pause, whether a memory is full or not. They drop the oldest tokens by themselves,
// which a suffix automaton cannot do. engine/log has the measurements (2026-11-26).
//
// # Files
//
// A memory is one file, which only its owner may read. It begins with whose it is. Each record has
// a length and a checksum. It holds one text's new tokens and where they come from. So Forget can
// remove the texts of a model, a client or a day. Texts are appended by a goroutine of the store:
// no request waits for a disk, and a crash loses the last text at most. Records from the first
// damaged one on are discarded, and the log says why. A foreign file is replaced. A file that
// cannot be read at the moment is not changed.
//
// A memory is read when its client first asks, in parallel to the request, which drafts nothing
// from it until it is read. It leaves the process when its client has been idle for Options.Idle.
// At most maxOpen memories are open, so all of them take MaxBytes at most.
package texts
