// Package endpoint listens for HTTP: on the control socket, and on TCP where a process serves
// programs. It moves the TCP listeners while requests are answered, finds the program that has a
// taken port, and ends connections without a request cut short.
//
// An [Endpoint] owns the listeners, their servers and the goroutines that accept. The caller owns
// the handlers, and gives them to [Endpoint.Serve].
//
// # Ports
//
// Both loopback families are opened at one port, or neither is. The wildcard addresses are probed
// too: macOS lets a program bind a loopback address that another program holds through the
// wildcard. Clients would reach either. A taken port is no failure of the process. The socket is
// served all the same, and [Endpoint.Describe] says who has the port and which one is free. The
// port never moves by itself.
//
// # Drain
//
// [Endpoint.Drain] gives requests in flight four seconds, then cancels them, and leaves them one
// second to tell their clients. Connections on which no request arrived are closed at once:
// http.Server.Shutdown would wait for them as if they were busy.
//
// # Locks
//
// The locks here are the innermost of package app's order: settings, then pool, then endpoint. No
// method calls back into another room while it holds one.
package endpoint
