// Package api has what all routes that run a model share:
//
//   - what a request asks for, and how its prompt is made;
//   - how the answer is generated and read;
//   - what is kept of the run.
//
// The packages of the vendors add their bodies, answers and events.
//
// # A request
//
// A route's body is read into a [Request] and checked without a model. Then the model is acquired,
// the prompt is rendered and tokenized, and each continuation becomes a [Choice]. Errors up to here
// are plain answers, with one exception: if the model must be loaded first, a stream begins with
// words that tell its client to wait. After a stream has begun, a failure is an event.
//
// A chat is a [Conversation], whichever vendor sends it. Its [Message] values are read from the
// fields of the body, and written as the template's variables. Nothing is converted between them.
//
// # An answer
//
// Each choice runs on a goroutine of its own. It reads tokens as the model's family writes (package
// dialect). A token brings any number of parts: text, a thought or a call. The route's [ReplyFormat] makes
// a reply of them, whole or as a stream of [Events], which the handler's goroutine writes. The
// generating side appends to a bounded buffer and never waits for the reader. So a client that
// stops reading loses its connection and disturbs no other request.
//
// The token ids are the answer; a format is only how they are written. So ids alone are enough to
// resume, repeat or check a run.
//
// A thought that has used up its tokens is closed by a second request to the engine. That request
// gives the engine what was said and the closing tag as tokens. The engine itself puts nothing into
// an answer.
//
// # Thoughts that clients leave out
//
// Many clients send an earlier answer back without its thought. A template that keeps the thought
// then prints another prompt than the one that the model has read, and the prefix is lost. So the
// thought of each answer is kept, and put back before the template prints the prompt (put_back.go).
//
// It is found by the whole conversation up to its answer ([past]), of the same key and model. It is
// sealed with a key from that conversation, so that only a client that repeats the conversation can
// open it. A message that comes with a thought stays as it is. Where the template prints no thought,
// none is put back, and none where it would take the room of the answer.
//
// # A run
//
// Every request to a generating route leaves a row in the history, a refused one too. A client that
// leaves ends its run at the engine's next round. A client that still wants its answer says so
// beforehand (X-Tandem-Resumable), as the page does. Its run is interrupted and keeps what is
// needed to resume it. So the answer goes on when the page is loaded again, and no token is
// generated that no client waits for.
//
// Dependency: prometheus/client_golang writes the format of /metrics, with histograms and the
// figures of the process.
package api
