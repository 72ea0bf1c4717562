// Package server is Tandem's HTTP side. It decides who is let in, and lists the routes. It has the
// control routes of the menu, the window and the command line, /health, and a small page at /. The
// routes of the vendors come from packages openai, responses, anthropic, ollama and llamacpp, and
// their shared parts from package api.
//
// The server calls [Services], a struct of small interfaces. It never touches MLX, files or the
// database. One Server answers through two doors:
//
//   - [Server.Endpoint], for TCP. Host, Origin and Sec-Fetch-Site are checked on every route.
//     They keep pages out, so a body needs no Content-Type, but it is JSON only. The control
//     routes (/app/...) answer loopback peers that carry a session. A session is bought once,
//     with a code that is valid for 60 seconds.
//   - [Server.Socket], for the Unix socket. Opening it is the authority.
//
// A session comes in the header Authorization alone, never in a cookie. Cookies go by host and not
// by port. So a browser would show the cookie to a program on another port of this machine. It
// would also send the cookie with the requests of that program's pages. A page keeps its session in
// the storage of its tab. It hands the session to other tabs of the same origin in the same
// browser, by a BroadcastChannel. So the session lasts as long as one of them.
//
// GET /openapi.json describes every route for programs. The document is written from the shapes
// that the readers of bodies use, and from the structs of the answers. Tests compare it with what the
// routes read and answer, and with a recorded document.
package server
