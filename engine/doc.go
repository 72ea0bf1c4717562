// Package engine continues prompts. It owns the queue of one model, schedules the requests
// on the MLX thread, and turns each into a stream of tokens.
//
// README.md in this folder is a tour of what the engine adds to plain decoding.
//
// # Requests and rounds
//
// [Engine.Generate] puts a [Request] into the queue and returns its tokens as an iterator.
// A scheduler goroutine works in rounds. A round has at most two parts:
//
//   - one chunk of one prompt;
//   - one decode step that all running requests share.
//
// Each part is one mlx.Thread.Do. Tokens are handed over outside of it through a mailbox,
// so a slow reader stalls no other request. Leaving the range, or cancelling its context,
// ends a request within one round.
//
// # Parts
//
// Each field has one owner:
//
//   - queue is what all goroutines share with the scheduler: requests to generate or encode, and
//     jobs, under a lock. Its admission decides which of them is next, and whether there is room.
//   - scheduler has the requests in flight, and decides what a round evaluates. All below belong to its
//     goroutine.
//   - runner evaluates rounds of requests on the MLX thread, and ends requests. What lasts from round
//     to round is in the task of a request.
//   - encoder does the same for texts that are read without an answer.
//   - checkpoints saves states and restores them.
//   - drafters opens drafts, commits tokens to them and drops them.
//   - planner chooses the drafts of the next round, from what rounds cost.
//
// # The queue
//
// Requests to generate and to encode (see below) wait for a place, and for memory where
// Options.SequenceBytes bounds it. Each rule has a test that plays its scenario (fair_test.go,
// admission_test.go).
//
//   - The client ([Request].Client) with the fewest requests in flight is next. Among
//     equal clients it is the one whose last turn is the longest ago.
//   - Requests to generate and to encode take turns. The latter leave half of the places. While
//     no text is encoded, the next encode request needs no place.
//   - If the next request does not fit, those after it wait. Only short requests may pass,
//     into the memory and the places reserved for them.
//
// Chunks have rules of their own:
//
//   - The prompt with the shortest rest is read first. So a short prompt begins within two
//     chunks of a long one: the one under way and one more.
//   - No client is read more than some eight chunks ahead of another.
//   - Every fourth chunk goes to the prompt that came first.
//   - Chunks of prompts and of encode requests alternate.
//   - A chunk that takes longer than a tenth of a second is evaluated a few layers at a time
//     (pauses.go). After each part others have the thread for half that time: the requests of
//     the thread's other engines, the steps of this one, and up to three prompts that have no
//     more than a chunk left.
//
// Steps need no turns: every request that decodes has a part in each.
//
// # The live path
//
// Each request in flight owns its caches. A batch is a list of sequences, not a padded
// rectangle. Linear layers see the rows of all requests. Rope and attention see each request
// by itself (package lm).
//
// # Checkpoints
//
// Under Options.Checkpoints, states that requests computed are kept for requests that begin
// alike (package checkpoint). A request begins with the deepest state that is kept of its
// prompt, and evaluates at least one token.
//
// States are captured ahead where the model has rings (caches of a sliding window), or where a
// store takes them:
//
//   - at the prompt's boundaries;
//   - before its last token;
//   - where it parts from another text;
//   - along the answer, close together first.
//
// A capture inside a verify block is kept if its token is. A request that ends, by a
// cancel too, leaves its caches to the next one.
//
// Restored states were computed in chunks, steps and blocks of other requests. Kernels of
// most devices then differ in the last bits (see Exact requests). So two kinds of request
// restore nothing: an exact one, and one whose prompt is scored. When a round fails, all
// checkpoints are given up, because some are in caches that are undefined now.
//
// # Plain decoding is pipelined
//
// While the device computes step n, the host builds the graph of step n+1 on the unread
// token of step n. Then it reads step n and dispatches step n+1, in this order. Dispatching
// first would overlap more, but such a step finds the cache buffers in use and copies them
// whole (log/2026-11-21.md). The step in flight is a round of one row. Where a generation
// ends with the token just read, the row after it is rolled back.
//
// # Speculative decoding
//
// A request may have drafts (package draft). A verify round evaluates the newest token and
// the guesses after it in one forward, with the verdict in the graph. It costs one sync: the
// draft is dispatched and not read before. The accepted guesses are emitted, then the
// target's own next token, so a round gives at least what a plain step gives.
//
// The output is that of plain decoding. Which draft proposes, and how many tokens, is chosen
// round by round from what rounds cost and how many guesses were accepted. None at all is a
// choice. A draft that fails is given up, and its request goes on.
//
// Under a grammar ([Matcher]) a round has two syncs:
//
//  1. It is dispatched up to the target's logits. The guesses are read, which is the first
//     sync. The masks of what may follow each guess are made while the device computes.
//  2. The verdict is a second graph. Reading it is the second sync.
//
// Guesses are not masked. One that the grammar forbids is rejected, so the output stays
// exact and drafters need not know grammars. A plain step under a grammar is shared like any
// other, and begun on the unread token too. Only the draw waits for the mask.
//
// Rows of rejected guesses are trimmed. Under [Undo] the whole block is taken back, and its
// accepted tokens are carried: the next block evaluates them again, in front of its own.
// Their taps are known from the first time and reach the draft at once.
//
// A stop text may end inside a verify block. emitBlock (verify.go) takes in one token after the
// other, and addToken (accept.go) cuts its text at the stop (stops.go). The tokens of the block
// after it are dropped. For chats package api passes its own search as Request.Stopper: then the
// engine only ends there, and app/api/stops.go cuts the text.
//
// A verify round serves one request; plain steps are shared. Where several requests decode,
// drafts are taken only if two things hold, as measured:
//
//   - all together get more tokens per second;
//   - no request gets fewer than shared steps would give it.
//
// # Encode requests
//
// [Engine.Encode] asks what the model makes of texts, without an answer: embeddings, or a few
// logits after each text. Its chunks take turns with those of prompts, and short texts share
// a chunk. An encode request owns caches while it reads a text; at most one text is half read. It
// keeps no caches: a text that is embedded once is seldom continued.
//
// # Exact requests
//
// Libraries pick kernels by the number of rows, and kernels add up in different orders. So
// the logits of a block of four rows differ in their last bits from those of one row. Now
// and then two tokens are so close that this decides.
//
// Under Speculation.Exact every forward after the prompt has [ExactRows] rows and belongs to
// that request alone. Missing rows are padding: it comes last, is masked, and is trimmed off
// the caches at once. Attention goes row by row, each over the keys up to its own, because
// their number matters too. So logits are the same to the bit at all depths, 0 included.
//
// The request chooses this because it alone pays: its plain step costs what a block costs
// and is not pipelined. Logits of exact requests and of others differ.
//
// # Invariants
//
//   - Tokens are recorded before they are emitted.
//   - Between rounds every cache holds the tokens that were fed, and at most one more row, of
//     the step in flight. When a request leaves, it holds exactly those tokens.
//   - The package knows no SQL, no HTTP and no architecture.
package engine
