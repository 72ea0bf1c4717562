// Package endpoint listens for HTTP on the control socket, and on TCP if the process serves
// programs. It moves the TCP listeners while requests are answered. It finds the program that has a
// taken port. On a drain it closes connections without a request at once.
//
// An [Endpoint] owns the listeners, their servers and the goroutines that accept. The caller owns
// the handlers, and gives them to [Endpoint.Serve].
//
// # Ports
//
// Both loopback families are opened at one port, or neither is. The wildcard addresses are probed
// too. macOS lets a program bind a loopback address that another program holds through the
// wildcard. Clients would then reach either program. A taken port does not end the process. The
// socket is served all the same, and [Endpoint.Describe] says who has the port and which one is
// free. The port never moves by itself.
//
// # Drain
//
// [Endpoint.Drain] gives requests in flight four seconds. Then it cancels them and leaves them one
// second to tell their clients. Connections without a request are closed at once, because
// http.Server.Shutdown would wait for them.
//
// # Locks
//
// The locks here are the innermost of package app's order: settings, then pool, then endpoint. No
// method calls back into another room while it holds one.
package endpoint
