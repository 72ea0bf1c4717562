// Package disk reads files and folders that people and other programs made: the folders of models,
// the cache of a hub, the files of a home folder. Any of them may be a trap. So everything that
// opens such a file goes through here.
//
//   - A file is opened only if it is a regular one. A named pipe, a socket or a device would let
//     its reader wait for ever ([Open]). Links are followed, for the files of a hub's cache are
//     links; what this program alone writes is not written through one ([OpenUnlinked]).
//   - A disk that is gone, such as one at the other end of a network, may answer no call at all.
//     No call takes longer than [Patience]. A folder that let one call wait that long is refused at
//     once until that call comes back. So it costs its callers one wait and one thread.
//
// All functions may be called from several goroutines at once. Their errors are those of package
// os; [KindError] and [SilentError] are the two that this package adds.
package disk
