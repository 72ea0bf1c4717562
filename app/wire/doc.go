// Package wire is one vocabulary for HTTP: how the routes read bodies, and how they write answers,
// failures and streams. It knows no model and no service. Of routes it knows only in which vendor's
// form their failures are (protocol.go).
//
//   - Reading: an [Exchange] reads and unpacks a body and checks its type, size and nesting. [Fields]
//     reads the values of a JSON object one by one, so that an error names its field. The first
//     error stays.
//   - Failures: a [Failure] is an error as a client sees it. One table maps every machine code to a
//     status (errors.go). A protocol writes the failure in the form of the route's vendor
//     (protocol.go).
//   - Answers: an [Encoder] writes structs as JSON, and [AnswerOf] describes the same structs for
//     OpenAPI. A [Shape] describes a body, and its reader takes bounds and words from it.
//   - Streams: an [EventStream] takes events from any goroutine, and the handler's goroutine writes
//     them. The sender never waits for the client. A client that reads nothing for 30 seconds loses
//     its connection, and so does one that is 16 MiB late. A [Framing] lays the events out.
//   - Connections: [HTTP] returns an http.Server with the limits that the routes rely on.
//
// The large bodies of all requests in flight and waiting take at most 256 MiB, and beyond that 64 MiB
// of clients that have little there. The server tells others to try again. At most 64 MiB of them
// are rendered and tokenized at once. The next ones wait.
package wire
