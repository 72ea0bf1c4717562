// Package server is Tandem's HTTP side: the OpenAI routes that editors call,
// the control routes of the menu and the command line, /health, /metrics, and
// a small page at /.
//
// It knows the engine by its types and everything else by the interfaces of
// services.go; it never touches MLX, files or the database. One Server answers
// through two doors:
//
//   - [Server.Endpoint], for TCP. Host, Origin and Sec-Fetch-Site are checked
//     on every route, POST is JSON only. The control routes (/app/...) answer
//     loopback peers that carry a session, which is bought once with a code of
//     sixty seconds. A session comes in the header Authorization alone, never in a
//     cookie: those go by host and not by port, so that a browser would show it to
//     whoever serves on another port of this machine, and send it along with what
//     pages of that one ask for. A page keeps it in the storage of its tab, and
//     hands it to other tabs of the same origin in the same browser (a
//     BroadcastChannel), so that what it opens lasts as long as one of them.
//   - [Server.Socket], for the Unix socket. Opening it is the authority.
//
// A request is read and checked whole before the first byte of an answer, as far as that
// goes without its model: where one is loaded first, a stream begins with what tells its
// client to wait, and a failure behind that is an event. Its
// continuations are generated on goroutines of their own and written by the
// handler's: the generating side appends to a bounded buffer and never waits
// for the reader, so a client that stops reading loses its connection and
// nobody else notices. A client that leaves cancels its generation, at the next
// round and whoever it is; one that may want its answer all the same says so
// beforehand (X-Tandem-Resumable), as the page does: its run is interrupted, not
// cancelled, and keeps what it takes to be resumed. So a page that is loaded anew
// has its answer go on from where it was, and nothing is generated that nobody
// waits for. Every
// request to a generating route leaves a row in the history, a refused one too.
//
// What a model says is read as its family writes (package dialect): each token
// brings parts of text, of reasoning or of a call, none at all, or several. A
// route's form makes replies of them, whole or as a stream of events; the ids
// decide, and forms are laid on top, so that a run is resumed, repeated and
// checked by its ids alone. A thought that has used up its tokens is closed by a
// second request to the engine, which has what was said and the closing tag for
// given: the engine itself puts nothing into an answer.
//
// Wire forms are OpenAI's (chat completions, and the older completions with
// echo, scoring and fill-in-the-middle, embeddings, and responses, which are kept for
// who goes on from them), Anthropic's (messages) and, for reranking, Jina's; names of
// extensions are their inventors': return_token_ids and ignore_eos as in vLLM, timings
// as in llama.cpp. Programs that only know Ollama have its routes under /api. Errors
// carry one sentence and a machine code, mapped to a status in one table
// (errors.go), and are laid out as the vendor's whose route was called
// (protocol.go). All of it is described in openapi.json, which is served, and
// which tests hold to what is read and answered.
//
// Dependencies: prometheus/client_golang, because /metrics has a format, and
// histograms and process figures in it are worth not writing again.
package server
