// Package storage keeps Tandem's records in one SQLite file: the model registry, the history of
// runs, the checkpoints, the window's chats, measurements, and settings.
//
// It is a leaf: it knows nothing of engines, models or HTTP. Its records are plain structs, whose
// JSON names are the names of the columns. Those that clients get are in package record.
//
// The methods of a [DB] are grouped by what they read and write:
//
//   - DB.Models: the registry; settings, drafters, readings and policies of its models; downloads and
//     files of drafters
//   - DB.Checkpoints: what the checkpoint files hold, are worth, and came from
//   - DB.Runs: the history, the texts of its runs, and its clients
//   - DB.Chats: the window's chats and messages, and what is deleted with them
//   - DB.Responses: responses and thoughts, for the next request of a conversation
//   - DB: settings, keys, benches, and what concerns several of these, such as [DB.Forget]
//
// # Concurrency
//
// Any number of goroutines may use a [DB]. Writes go through one connection, one after the other.
// Reads go through a small pool of connections that cannot write and see the last committed state.
//
// The file belongs to one process at a time: [Open] ends the runs that an earlier process left in
// flight. So the caller holds the lock on the home folder while the DB is open. [OpenReadOnly]
// needs no lock and changes nothing.
//
// # Durability
//
// The file is in write-ahead logging mode with synchronous=NORMAL. A committed row survives the end
// of the process at any moment. A power failure may cost the last rows, never the file. If a file was
// not closed, Open checks all of it, through a read-only connection. So a damaged file stays as it was,
// byte for byte.
//
// On a full disk Open succeeds with one connection for reads and writes, because the file by which
// several would share the log cannot be made. Writes fail with [Full] until there is room.
//
// The schema changes only by appending a file to migrations/. The first one has the number 31, and a
// file with an older schema is refused. Before a file is migrated a copy is written beside it, by which
// a person goes back to the older program. [DB.Forget] and [Chats.Delete] remove it.
//
// # Texts
//
// The file has three kinds of text:
//
//   - the request of a run in flight, so that a crash does not lose its answer;
//   - the tokens of the latest runs that no checkpoint has, so that their answers can be computed
//     again ([RunText]);
//   - the window's own conversations ([Chat]) and the responses that a program may ask for again
//     ([Response]).
//
// Thoughts of earlier answers ([Thought]) are sealed. Their key comes from the conversation, so only
// a request that repeats the conversation can open them.
//
// Deleted rows are overwritten. [DB.Forget] and [Chats.Delete] remove them from the log and from
// the copies beside the file.
//
// # Errors
//
// Errors are [*Error]; their Code says what a caller can do. The error of a cancelled context is
// returned as it is.
//
// # Dependencies
//
// modernc.org/sqlite is SQLite without C, so that every build cross-compiles.
// github.com/pressly/goose/v3 applies embedded SQL files in order, one transaction each, and keeps
// count.
package storage
