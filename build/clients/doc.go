// Package clients runs programs that others wrote against a server of ours: client libraries, editors,
// agents and lm-eval. It also runs schemathesis on our own description of the routes.
//
// Each client has a home folder of its own, no other environment, no key of any worth, and no address but
// the server's. The scripts beside it are the clients' programs, their pins, and what the scripted engine
// says to them.
package clients
